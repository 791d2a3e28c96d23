"""nano, a navigator VLM small enough to ship: its weights.

`models.presets` has its grid and its limits; the folder `nano` of the repository trains it.
"""
