"""What is fast and what is not, measured against a limit in the same run."""
