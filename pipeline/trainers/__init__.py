"""The situations as trainers take them: one plain class each, and small adapters."""
