"""The recipe that trains nano, the small model that ships with atlaskit; no part of the wheel.

`teacher` holds the policy that nano imitates and `data` writes training data from it. `learn`
trains on that data: it needs only PyTorch, transformers, Pillow and NumPy, so it runs where
atlaskit is not installed. `policy` learns by reward, without language. `shipped` has what the runs
that are published gave. The folder imports atlaskit, never the reverse.
"""
