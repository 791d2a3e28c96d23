"""Video-RLM: the master and the workers that search a video, and the baselines (paper §3.2)."""
