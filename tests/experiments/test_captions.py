"""The sentences that notebooks say about their figures."""

from __future__ import annotations

from atlaskit.experiments.captions import captions, saved_figures


def cell(kind: str, source: str) -> dict[str, str]:
    return {"cell_type": kind, "source": source}


def test_the_sentence_before_a_figure_is_on_that_figure() -> None:
    cells = [
        cell("markdown", "**Figure.** Left over."),
        cell("code", "rows = 1"),
        cell("markdown", "Some text.\n\n**Figure.** Two\nlines; the claim.\n\nMore text."),
        cell("code", "first = ak.plots.path(run)"),
        cell("code", "second = ak.plots.path(run)"),
        cell("markdown", "**Figure.** A.\n\n**Figure.** B."),
        cell("code", 'a = ak.plots.a(1)\nb = ak.plots.b(2)\nak.plots.save(b, folder, "09_b")'),
        cell("code", "%time x"),
        cell("code", 'ak.plots.save(first, folder, "09_first")\nak.plots.save(second, folder, "09_second")'),
        cell("code", 'ak.plots.save(a, folder, "09_a")\nother.save(a, folder, "09_other")'),
    ]
    assert captions(cells) == {"09_b": "B.", "09_first": "Two lines; the claim.", "09_a": "A."}
    assert saved_figures(cells) == ["09_b", "09_first", "09_second", "09_a"]
