"""The names of the package, for editors and type checkers. Python itself reads `PLACES`."""

from atlaskit import benchmarks
from atlaskit.agents import scouts, strategies
from atlaskit.agents.budget import Budget
from atlaskit.agents.pictures import PictureScout, TextScout
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
from atlaskit.evaluation.each import ask_each
from atlaskit.evaluation.runner import evaluate
from atlaskit.evaluation.tables import load as read_rows
from atlaskit.experiments import parameters
from atlaskit.models.client import VLM
from atlaskit.models.dialect import Dialect
from atlaskit.models.embedding import Embedder
from atlaskit.models.prices import Prices
from atlaskit.models.serving.server import serve
from atlaskit.models.speech import ASR
from atlaskit.runs import archive as cache
from atlaskit.runs import replay
from atlaskit.runs.exporting.formats import read as read_passages
from atlaskit.runs.exporting.passages import Passage, question_of
from atlaskit.runs.exports import export
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.folder import open_videos
from atlaskit.video.opening import open_video
from atlaskit.viz import plots, walk, widgets

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
    "PictureScout",
    "Prices",
    "Question",
    "Result",
    "Search",
    "TextScout",
    "Trace",
    "Zoom",
    "ask",
    "ask_each",
    "baselines",
    "benchmarks",
    "cache",
    "diagnosis",
    "evaluate",
    "export",
    "metrics",
    "open_video",
    "open_videos",
    "parameters",
    "plots",
    "question_of",
    "read_passages",
    "read_rows",
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

__version__: str
PLACES: dict[str, str]

def __getattr__(name: str) -> object: ...
def __dir__() -> list[str]: ...
