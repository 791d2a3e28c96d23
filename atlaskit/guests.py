"""Guests: what other packages bring, found by their entry points; the kit names none of them.

| group | what an entry point leads to |
|---|---|
| `atlaskit.models` | a `models.names.Shipped`: `ak.serve` and `vlm=` take its name |
| `atlaskit.benchmarks` | a function that returns a `Benchmark` for `atlaskit evaluate` |
| `atlaskit.oracles` | `oracle(world, miss, confuse)`: the `Model` that knows a case's world |
| `atlaskit.worlds` | a `gym.tasks.MakesWorlds`: what `atlaskit.gym` draws |
| `atlaskit.entries` | a module that declares kinds of cache entries, which a cache then knows |
| `atlaskit.displays` | what draws `ask(show=True)`: the kit's own, `viz.live` |

The oracle of a benchmark is registered by the benchmark's name; each that it makes is called
"oracle:" and its world. If it has `of_video(video)`, which returns one or None, the explorer offers
it for the films that it knows. "Add to the kit" in the documentation has an example.
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
    """Return the entry points of a group by their names, sorted. Nothing of theirs is imported."""
    # Imported here, since most commands and questions do not need it.
    from importlib.metadata import entry_points

    found = {each.name: each for each in entry_points(group=group)}
    return {name: found[name] for name in sorted(found)}


@cache
def load(group: str, name: str) -> Any:
    """Return what an entry point leads to.

    Raises:
        InputError: Nothing has registered the name, or what has cannot be imported.
    """
    entry = registered(group).get(name)
    if entry is None:
        known = ", ".join(registered(group)) or "none"
        raise InputError(
            f"{name!r:.80} is none of the names that packages have registered as {group}: {known}."
        )
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"{name!r:.80}, registered as {group}, cannot be loaded: {reason(error)}."
        ) from error
