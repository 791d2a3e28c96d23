"""nano: a navigator VLM small enough to ship, and the recipe that makes it.

The kit writes the teaching material (`sights`, `expert`, `lessons`), and what learns from it (`learn/`) needs PyTorch,
transformers, Pillow and NumPy alone, so that it runs wherever these are.
"""

from atlaskit.nano.curves import curves
from atlaskit.nano.data.synthetic import judging, reading, searching
from atlaskit.nano.teacher.teacher import SETTINGS, Expert
from atlaskit.nano.train import make

__all__ = ["SETTINGS", "Expert", "curves", "judging", "make", "reading", "searching"]
