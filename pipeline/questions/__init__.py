"""Questions over a customer's events: what they mean (`tree`), as SQL, as plain Python, and in English."""
