"""Shopping tasks looked at by a program of its own: what fits a task, and players that make one mistake on purpose."""
