"""Loaders of published benchmarks, one module each, and what reads their rows and files."""
