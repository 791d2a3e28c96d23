"""Every method of METHODS, asked with small images, for tests that hold for all of them."""

from typing import Any

from atlaskit.caching.cache import Cache
from atlaskit.evaluation.baselines import METHODS, settings_of
from atlaskit.runs.result import Result
from atlasworld import World

SMALL: dict[str, dict[str, Any]] = {
    name: {key: 32 for key in ("size", "cell") if key in (settings_of(method) or ())}
    for name, method in METHODS.items()
}
"""Small images, by method."""
SMALL["uniform"]["frames"] = 64
SMALL["native"]["frames"] = 64


def ask_by(name: str, world: World, vlm: Any, cache: Cache, number: int = 0, **settings: Any) -> Result:
    """Ask a world's question by a method, with small images; leave out settings that it lacks."""
    method = METHODS[name]
    given = {key: value for key, value in settings.items() if key in (settings_of(method) or ())}
    return method(world.drawn, world.questions[number], vlm=vlm, cache=cache, **{**SMALL[name], **given})
