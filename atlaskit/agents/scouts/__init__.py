"""Scouts: cheap signals, made without the model, of where in a video to look first.

`ak.Search(scouts=)` takes names in SCOUTS ("words": what is said shares words with the question;
"change": much changes), `likeness(embedder)` (frames resemble the question), or any function of
this form:

    def late(sight, grid):
        "Name the last cells, for a question about the end."
        return Hints({cell.index: Hint(0.6, "near the end") for cell in grid.cells[-3:]})

A scout says which cells of a grid to look at first, and why. It must depend on the sight and the
grid alone. Its hints are never evidence: they go into prompts, and rank the regions of the root
grid that the master does not score higher.
"""

from atlaskit.agents.scouts.by_change import change
from atlaskit.agents.scouts.by_likeness import likeness
from atlaskit.agents.scouts.by_words import words
from atlaskit.agents.scouts.hints import Hint, Hints
from atlaskit.agents.scouts.sight import Scout, Sight
from atlaskit.agents.scouts.survey import SCOUTS

__all__ = ["SCOUTS", "Hint", "Hints", "Scout", "Sight", "change", "likeness", "words"]


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
