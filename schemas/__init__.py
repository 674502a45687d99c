"""The nouns of this project: one frozen record type for each kind of row."""
