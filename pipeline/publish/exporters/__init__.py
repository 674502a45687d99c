"""What trainers load: a config for each form of a dataset, and the rows of it."""
