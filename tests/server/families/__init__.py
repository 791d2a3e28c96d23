"""Creates a tiny untrained model of each family of vision-language models."""
