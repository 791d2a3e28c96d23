"""A long video as a map: navigate it with a vision-language model.

The names here are a notebook's whole vocabulary. Importing them does no I/O and loads no model.
"""

from atlaskit import (
    baselines,
    benchmarks,
    diagnosis,
    displays,
    live,
    movie,
    nano,
    plots,
    replay,
    scaling,
    statistics,
    strategies,
    walk,
    widgets,
)
from atlaskit import recording as cache  # `ak.cache.export`, `ak.cache.import_`: a cache as a whole
from atlaskit.benchmarks.atlasworld import Oracle
from atlaskit.budget import Budget
from atlaskit.cache import Cache
from atlaskit.dialect import Dialect
from atlaskit.environment import (
    AddToScratchpad,
    Atlas,
    Backtrack,
    Claim,
    Expand,
    Finished,
    Investigate,
    MarkPromising,
    Zoom,
)
from atlaskit.errors import AtlasError
from atlaskit.evaluate import evaluate
from atlaskit.opening import open_video
from atlaskit.question import Question
from atlaskit.render import view
from atlaskit.result import Result
from atlaskit.search import ask
from atlaskit.serve import serve
from atlaskit.trace import Trace
from atlaskit.vlm import VLM

displays.attach()  # so that objects show themselves in notebooks
live.attach()  # so that `ask` shows a run as it happens

__all__ = [
    "VLM",
    "AddToScratchpad",
    "Atlas",
    "AtlasError",
    "Backtrack",
    "Budget",
    "Cache",
    "Claim",
    "Dialect",
    "Expand",
    "Finished",
    "Investigate",
    "MarkPromising",
    "Oracle",
    "Question",
    "Result",
    "Trace",
    "Zoom",
    "ask",
    "baselines",
    "benchmarks",
    "cache",
    "diagnosis",
    "evaluate",
    "movie",
    "nano",
    "open_video",
    "plots",
    "replay",
    "scaling",
    "serve",
    "statistics",
    "strategies",
    "view",
    "walk",
    "widgets",
]
