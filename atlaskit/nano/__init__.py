"""nano: a navigator VLM small enough to ship, and the recipe that makes it.

The kit writes the teaching material (`sights`, `expert`, `lessons`), and what learns from it (`learn/`) needs PyTorch,
transformers, Pillow and NumPy alone, so that it runs wherever these are.
"""
