"""No text from outside holds a parser for a time that grows faster than its length.

Each parser of subtitles and questions reads one fragment over and over: every literal of the
modules whose patterns search the text, and what breaks patterns elsewhere. The parsers of models
are in `tests/models/test_bounds.py`.
"""

from collections.abc import Callable
from typing import Any

import pytest
from support.bounded import check_linear, literals

from atlaskit.benchmarks.datasets import options
from atlaskit.errors import printable
from atlaskit.video.subtitles import documents, files, rows, text

CHARS = 120_000
USUAL = (
    *("a", "1", "1.", " ", "\n", "\t", "<", ">", "{", "}", "[", "]", '"', "'", "\\", '\\"', "-", "é", "a b ", "0:0:"),
    *("-->", "00:00:01,000 --> ", '{"a":', "[{", "// ", "/*", "&#34;", "A. ", "(A", "\n1\n"),
)


LINES = tuple(f"video/subtitles/{name}" for name in ("rows", "text", "files", "documents"))
PARSERS: dict[str, tuple[tuple[str, ...], Callable[[str], Any]]] = {
    **{
        parse.__name__: (LINES, parse)
        for parse in (
            *(rows.parse_srt, rows.parse_ass, documents.parse_ttml, documents.parse_json, documents.parse_json_lines),
            *(rows.parse_sbv, rows.parse_lrc, rows.parse_tsv, rows.parse_sub, rows.parse_sami),
            *(text.plain_text, text.plain_ass_text, text.parse_time),
        )
    },
    "lines of a cue": (LINES, lambda given: rows.parse_srt(f"1\n00:00:01,000 --> 00:00:02,000\n{given}\n\n")),
    "kind of subtitles": (LINES, lambda given: files.format_of(".txt", given)),
    "options": (("benchmarks/datasets/options",), options.split_question),
    "printable": (("errors",), lambda text: printable(text, 300)),
}


@pytest.mark.family
@pytest.mark.parametrize("name", PARSERS)
def test_twice_the_text_takes_about_twice_the_time(name: str) -> None:
    modules, parse = PARSERS[name]
    for fragment in {*USUAL, *literals(*modules)}:
        check_linear(parse, fragment, CHARS, free_s=0.1)
