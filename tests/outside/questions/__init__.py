"""A second reader of the questions, which answers them from their English and the events alone."""
