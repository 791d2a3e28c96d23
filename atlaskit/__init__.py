"""A long video as a map: navigate it with a vision-language model.

The names here are a notebook's whole vocabulary. Importing them does no I/O and loads no model.
"""

from atlaskit import benchmarks
from atlaskit.agents import scouts, strategies
from atlaskit.agents.budget import Budget
from atlaskit.agents.search import ask
from atlaskit.agents.settings import Search
from atlaskit.agents.speech import transcribe
from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import (
    AddToScratchpad,
    Backtrack,
    Claim,
    Expand,
    Finished,
    Investigate,
    MarkPromising,
    Zoom,
)
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.question import Question
from atlaskit.environment.render import view
from atlaskit.errors import AtlasError
from atlaskit.evaluation import baselines, diagnosis, metrics, scaling, statistics
from atlaskit.evaluation.runner import evaluate
from atlaskit.models.client import VLM
from atlaskit.models.dialect import Dialect
from atlaskit.models.embedding import Embedder
from atlaskit.models.prices import Prices
from atlaskit.models.serving.server import serve
from atlaskit.models.speech import ASR
from atlaskit.runs import archive as cache  # `ak.cache.export`, `ak.cache.import_`: a cache as a whole
from atlaskit.runs import replay
from atlaskit.runs.exporting.formats import read as read_passages
from atlaskit.runs.exporting.passages import Passage, question_of
from atlaskit.runs.exports import export
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.opening import open_video
from atlaskit.viz import html, plots, walk, widgets

__version__ = "0.1.0"

html.attach()  # objects display themselves in notebooks

__all__ = [
    "ASR",
    "VLM",
    "AddToScratchpad",
    "Atlas",
    "AtlasError",
    "Backtrack",
    "Budget",
    "Cache",
    "Claim",
    "Dialect",
    "Embedder",
    "Expand",
    "Finished",
    "Investigate",
    "MarkPromising",
    "Passage",
    "Prices",
    "Question",
    "Result",
    "Search",
    "Trace",
    "Zoom",
    "ask",
    "baselines",
    "benchmarks",
    "cache",
    "diagnosis",
    "evaluate",
    "export",
    "metrics",
    "open_video",
    "plots",
    "question_of",
    "read_passages",
    "replay",
    "scaling",
    "scouts",
    "serve",
    "statistics",
    "strategies",
    "transcribe",
    "view",
    "walk",
    "widgets",
]


def __dir__() -> list[str]:
    """List the public names only; the packages they come from stay importable."""
    return [*__all__, "__version__"]
