"""`seeds`: the three ranges of AtlasWorld seeds: for development, for selection, and for tests.

Whoever tunes on the worlds of a range learns something about these worlds, so the numbers to
publish come from worlds that nothing was tuned on.
"""

from __future__ import annotations

from atlaskit.errors import InputError

DEVELOPMENT = range(1_000_000, 2_000_000)
"""nano is trained on these worlds; prompts, settings and rules are tried out on them."""
SELECTION = range(1_000)
"""Trials are judged on these worlds, and the best one is kept."""
TEST = range(2_000_000, 2_001_000)
"""What was kept is measured on these worlds, once a release."""
RANGES = {"development": DEVELOPMENT, "selection": SELECTION, "test": TEST}


def seeds(name: str) -> range:
    """Return the seeds of a range by name: `seeds("test")[:4]` are the first four.

    Args:
        name: "development" (what one tunes on, nano's training included), "selection" (what
            trials are judged on) or "test" (what is measured once a release).

    Raises:
        InputError: There is no range of that name.

    Examples:
        >>> aw.seeds("test")[0]
        2000000
    """
    if name not in RANGES:
        raise InputError(f"seeds must be {', '.join(RANGES)}; got {name!r:.80}.")
    return RANGES[name]
