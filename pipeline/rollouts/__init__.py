"""Conversations in which an agent answers questions about a customer by writing code."""
