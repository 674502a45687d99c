"""Tasks that one product of the whole catalog satisfies: what is needed, how it is said, and how an agent finds it."""
