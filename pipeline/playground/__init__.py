"""You are the agent: the situations of the shop as pages of a browser, to be played by a person."""
