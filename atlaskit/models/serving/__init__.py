"""A local vLLM server: its environment, its process and its log."""
