"""The shop as a world: what stands where, who comes, and what they do there."""
