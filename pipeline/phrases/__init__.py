"""The phrase bank: many ways to say each meaning, and which split each of them belongs to."""
