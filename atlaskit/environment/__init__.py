"""VideoAtlas: the Markov decision process over a video (paper §3.1)."""
