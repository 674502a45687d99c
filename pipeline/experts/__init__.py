"""Players that see only what an agent sees: the shopper's words and what tools return. They know no goal, and no end of a task."""
