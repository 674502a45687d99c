"""A run as local web pages: every row of every dataset, what was rejected, and SQL over them."""
