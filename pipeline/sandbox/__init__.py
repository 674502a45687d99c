"""SQL that others wrote: what it may say, and where it runs."""
