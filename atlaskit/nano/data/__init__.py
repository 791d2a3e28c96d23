"""Nano's training data: recorded trajectories and synthetic examples."""
