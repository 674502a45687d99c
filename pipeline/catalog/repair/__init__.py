"""How each kind of field is mended; every function says in `repairs` what it did."""
