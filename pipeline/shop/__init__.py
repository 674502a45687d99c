"""What an agent meets in the shop: its store, pages, tools and policies, and the simulated user."""
