"""nano, a navigator VLM small enough to ship: its weights, the words that it was taught, and what
suits it. The folder `nano` of the repository trains it.
"""
