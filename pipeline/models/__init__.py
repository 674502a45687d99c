"""Who writes the words: no model at all, an OpenAI-compatible server, or vLLM in this process."""
