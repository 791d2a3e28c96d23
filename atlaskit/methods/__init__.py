"""Methods that Video-RLM is compared with, one module each, and what they share."""
