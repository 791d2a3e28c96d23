"""nano's training data: recorded trajectories, synthetic examples and labelled frames."""
