"""A run as people see it."""
