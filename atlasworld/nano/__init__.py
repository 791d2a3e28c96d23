"""nano, a navigator VLM small enough to ship: its weights, and the words that it was taught.

`models.presets` has its grid and its limits; the folder `nano` of the repository trains it.
"""
