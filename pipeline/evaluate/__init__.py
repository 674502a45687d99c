"""How an attempt is scored: pure functions of what was asked and what was done."""
