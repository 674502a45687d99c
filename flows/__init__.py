"""Prefect flows over the stages. Everything works without them; nothing below imports Prefect."""
