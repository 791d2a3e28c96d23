"""`seeds`: three ranges of AtlasWorld seeds, for development, for selection, and for tests.

Tuning on some worlds favours these worlds, so published numbers come from worlds on which nothing
was tuned.
"""

from __future__ import annotations

from atlaskit.errors import InputError

DEVELOPMENT = range(1_000_000, 2_000_000)
"""nano is trained on these worlds; prompts, settings and rules are tried out on them."""
SELECTION = range(1_000)
"""Candidates are compared on these worlds, and the best one is chosen."""
TEST = range(2_000_000, 2_001_000)
"""The chosen one is measured on these worlds, once a release."""
RANGES = {"development": DEVELOPMENT, "selection": SELECTION, "test": TEST}


def seeds(name: str) -> range:
    """Return the seeds of a range by name: `seeds("test")[:4]` are the first four.

    Args:
        name: "development" (for tuning, nano's training included), "selection" (to choose among
            candidates) or "test" (for the measurement of a release).

    Raises:
        InputError: There is no range of that name.

    Examples:
        >>> aw.seeds("test")[0]
        2000000
    """
    if not isinstance(name, str) or name not in RANGES:  # --load may give a list
        raise InputError(f"seeds must be {', '.join(RANGES)}; got {name!r:.80}.")
    return RANGES[name]
