"""The customers and their months: what they need, when they come, what they do and what they buy."""
