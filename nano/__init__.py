"""The recipe that trains nano, the small model that ships with atlaskit.

`teacher` holds the rule-based policy that nano imitates, and `data` writes training data from it.
`learn` trains on that data. It needs only PyTorch, transformers, Pillow and NumPy, so it runs where
atlaskit is not installed. `policy` trains a small network by reward, without language. `shipped`
holds the results of the published runs.

This folder imports atlaskit; atlaskit never imports this folder, and the wheel does not contain it.
"""
