"""A long video as a map: navigate it with a vision-language model.

The names here are all that a notebook needs. A module is imported when one of its names is first
used, so that a script that only opens a video does not wait for the rest. `__init__.pyi` declares
the names for editors and type checkers.
"""

from importlib import import_module

__version__ = "0.1.0"

PLACES = {
    "Budget": "agents.budget:Budget",
    "PictureScout": "agents.pictures:PictureScout",
    "TextScout": "agents.pictures:TextScout",
    "scouts": "agents.scouts",
    "ask": "agents.search:ask",
    "Search": "agents.settings:Search",
    "transcribe": "agents.speech:transcribe",
    "strategies": "agents.strategies",
    "benchmarks": "benchmarks",
    "Cache": "caching.cache:Cache",
    "AddToScratchpad": "environment.actions:AddToScratchpad",
    "Backtrack": "environment.actions:Backtrack",
    "Claim": "environment.actions:Claim",
    "Expand": "environment.actions:Expand",
    "Finished": "environment.actions:Finished",
    "Investigate": "environment.actions:Investigate",
    "MarkPromising": "environment.actions:MarkPromising",
    "Zoom": "environment.actions:Zoom",
    "Atlas": "environment.atlas:Atlas",
    "Question": "environment.question:Question",
    "view": "environment.render:view",
    "AtlasError": "errors:AtlasError",
    "baselines": "evaluation.baselines",
    "diagnosis": "evaluation.diagnosis",
    "metrics": "evaluation.metrics",
    "ask_each": "evaluation.each:ask_each",
    "evaluate": "evaluation.runner:evaluate",
    "scaling": "evaluation.scaling",
    "statistics": "evaluation.statistics",
    "read_rows": "evaluation.tables:load",
    "parameters": "experiments.parameters",
    "VLM": "models.client:VLM",
    "Dialect": "models.dialect:Dialect",
    "Embedder": "models.embedding:Embedder",
    "Prices": "models.prices:Prices",
    "serve": "models.serving.server:serve",
    "ASR": "models.speech:ASR",
    "cache": "runs.archive",
    "read_passages": "runs.exporting.formats:read",
    "Passage": "runs.exporting.passages:Passage",
    "question_of": "runs.exporting.passages:question_of",
    "export": "runs.exports:export",
    "replay": "runs.replay",
    "Result": "runs.result:Result",
    "Trace": "runs.trace:Trace",
    "open_videos": "video.folder:open_videos",
    "open_video": "video.opening:open_video",
    "plots": "viz.plots",
    "walk": "viz.walk",
    "widgets": "viz.widgets",
}
"""Where each public name is defined: a module of this package, or `module:name` for an object."""

__all__ = [*PLACES]


def __getattr__(name: str) -> object:
    """Import the module or object of a public name when it is first used."""
    if name not in PLACES:
        raise AttributeError(f"module 'atlaskit' has no attribute {name!r}")
    place, _, of_module = PLACES[name].partition(":")
    html = import_module("atlaskit.viz.html")
    html.attach()  # objects display themselves in notebooks
    module = import_module(f"atlaskit.{place}")
    value = getattr(module, of_module) if of_module else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names only; the modules behind them stay importable."""
    return [*__all__, "__version__"]
