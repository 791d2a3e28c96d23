"""Guests: extensions from other packages, which are found by their entry points, not named here.

| group | object of an entry point |
|---|---|
| `atlaskit.models` | a `models.names.Shipped`: `ak.serve` and `vlm=` take its name |
| `atlaskit.benchmarks` | a function that returns a `Benchmark` for `atlaskit evaluate` |
| `atlaskit.oracles` | `oracle(world, miss, confuse)`: returns a `Model` that knows the world |
| `atlaskit.worlds` | a `gym.tasks.MakesWorlds`: makes the worlds of `atlaskit.gym` |
| `atlaskit.entries` | a module that declares kinds of cache entries |
| `atlaskit.displays` | the display of `ask(show=True)`; the kit registers its own, `viz.live` |

A world is a synthetic video with known events. An oracle is a scripted model that reads these
events in place of frames. The entry point of a function that makes oracles has the same name as the
benchmark that they answer, and the name of an oracle is "oracle:" followed by that of its world. If
the function has an attribute `of_video(video)`, which returns an oracle or None, the explorer
offers that oracle. The page "Add to the kit" of the documentation has an example.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from atlaskit.errors import InputError, reason

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

MODELS = "atlaskit.models"
BENCHMARKS = "atlaskit.benchmarks"
ORACLES = "atlaskit.oracles"
WORLDS = "atlaskit.worlds"
ENTRIES = "atlaskit.entries"
DISPLAYS = "atlaskit.displays"


@cache
def registered(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, sorted by name. None of them is imported."""
    # Imported here, since most commands do not need it.
    from importlib.metadata import entry_points

    by_name = {entry.name: entry for entry in entry_points(group=group)}
    return {name: by_name[name] for name in sorted(by_name)}


@cache
def load(group: str, name: str) -> Any:
    """Return the object of an entry point.

    Raises:
        InputError: No package has registered the name, or the object cannot be imported.
    """
    entry = registered(group).get(name)
    if entry is None:
        names = ", ".join(registered(group)) or "none"
        raise InputError(
            f"{name!r:.80} is none of the names that packages have registered as {group}: {names}."
        )
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"{name!r:.80}, registered as {group}, cannot be loaded: {reason(error)}."
        ) from error
