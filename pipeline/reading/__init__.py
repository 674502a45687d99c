"""English read back: a grammar of the shop's wordings, and what its words can name."""
