"""How far a log is from a life: figures of what customers typed, opened and bought, read from the rows alone."""
