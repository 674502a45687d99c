"""A run as local web pages: every row of every dataset, what was turned away, and SQL over them."""
