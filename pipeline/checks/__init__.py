"""Checks that more than one stage uses."""
