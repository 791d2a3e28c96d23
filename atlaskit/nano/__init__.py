"""nano: a navigator VLM small enough to ship, and the recipe that trains it.

`teacher` holds the policy that nano imitates and `data` writes training data from it. `learn`
trains on that data: it needs only PyTorch, transformers, Pillow and NumPy, so it runs where
atlaskit is not installed. `weights` holds the shipped model.
"""

from atlaskit.nano.curves import curves
from atlaskit.nano.data.synthetic import judging, reading, searching
from atlaskit.nano.teacher.teacher import SETTINGS, Expert
from atlaskit.nano.train import make

__all__ = ["SETTINGS", "Expert", "curves", "judging", "make", "reading", "searching"]


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
