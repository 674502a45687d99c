"""A customer's sessions seen page by page: what was done next, and why."""
