"""A local vLLM server: its installation, its process, its log."""
