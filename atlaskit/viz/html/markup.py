"""`Html`: escaped tags, tables, cards and images; text of unknown origin stays text.

    escaped, untrusted, plain_text          text
    tag, paragraph, card, table             elements
    jpeg_image, shrink_jpeg                 images
    title, omitted, duration_text           phrases that several displays share

Only values of type `Html` are inserted as they are. Everything else is text: characters of
markup are escaped, and unprintable ones (controls, changes of direction) are replaced by
`errors.printable`. A line break becomes a space, and signs at which notebooks would begin a
formula are shielded.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape

from PIL import Image

from atlaskit.environment.grid import clock
from atlaskit.errors import printable, reason

MAX_WIDTH_PX = 960
"""Largest width of an image that is the main content of a display."""
SMALL_WIDTH_PX = 640
"""Largest width of an image beside others."""
SHARP = 2
"""Pixels of an image for each CSS pixel of a page: sharp screens have two."""
MAX_CHARS = 400
"""The most characters of one text, unless the caller gives another limit."""
MAX_IMAGE_BYTES = 300_000
"""A larger JPEG is shrunk."""
QUALITIES = (82, 70, 55, 40)
"""JPEG qualities that are tried before an image is scaled down further."""
_LONG_WORD = re.compile(r"(\S{40})(?=\S)")
"""A part of a long word, after which the word may wrap."""
_WHITESPACE = re.compile(r"\s+")
_TEX = re.compile(r"[$\\]")
"""Signs that begin a formula: notebooks render `$5 or $10` as a formula, unless each sign is in an
element of its own."""
# A word breaks only if it is longer than its column may be wide; a number never breaks.
_LEFT = "text-align:left;vertical-align:top;padding:2px 8px;overflow-wrap:break-word"
_RIGHT = "text-align:right;vertical-align:top;padding:2px 8px;white-space:nowrap"
_LONG_CHARS = 40
"""A text with more characters gets the style _LONG."""
_LONG = f"{_LEFT};min-width:14em"
"""Keeps a column from shrinking to the width of one word in a narrow page."""
_ROW = "border-top:1px solid rgba(128,128,128,0.3)"


class Html(str):
    """Markup in which all text is escaped already, so that it is not escaped again."""

    __slots__ = ()


def escaped(value: object, max_chars: int = MAX_CHARS) -> Html:
    """Return a value as escaped text, cut to `max_chars`, in which long words can wrap."""
    if isinstance(value, Html):
        return value
    pieces = _LONG_WORD.sub("\\1\n", plain_text(value, max_chars)).split("\n")
    return Html(_TEX.sub(r"<span>\g<0></span>", "<wbr>".join(map(escape, pieces))))


def untrusted(value: object, max_chars: int = MAX_CHARS) -> Html:
    """Return text of unknown origin, escaped; its writing direction does not affect its context."""
    return Html(f"<bdi>{escaped(value, max_chars)}</bdi>")


def tag(name: str, *inside: object, **attributes: object) -> Html:
    """Return an element; its content is escaped unless it is Html, its attributes always are."""
    pairs = ""
    for key, value in attributes.items():
        pairs += f' {key}="{escape(plain_text(value, 2_000))}"'
    return Html(f"<{name}{pairs}>{''.join(map(escaped, inside))}</{name}>")


def paragraph(*inside: object) -> Html:
    """Return a paragraph."""
    return tag("p", *inside, style="margin:0.3em 0")


def card(*parts: str) -> Html:
    """Return the display of one object: the parts that are not empty, one below the other."""
    return tag("div", *filter(None, parts), style="max-width:60em")


def guarded(what: str, make: Callable[[], str]) -> Html:
    """Return the HTML that `make` returns, or, if it raises an error, a sentence with the reason.

    It never raises an error itself, since users look at a display to see what is wrong.
    """
    try:
        return Html(make())
    except Exception as error:
        try:
            why = reason(error)
        except Exception:
            why = type(error).__name__
        return paragraph(f"{what} cannot be shown: ", untrusted(why))


def fact_table(rows: Iterable[tuple[str, object]]) -> Html:
    """Return a table of names and values, without a header."""
    return _table("", "".join(_row([name, value], is_fact=True) for name, value in rows))


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """Return a table with a header; the first cell of each row is the row's header.

    A table wider than the page can be scrolled, with the arrow keys once it has the focus.
    """
    header = "".join(tag("th", column, scope="col", style=_LEFT) for column in columns)
    body = "".join(map(_row, rows))
    whole = _table(caption, f"<thead><tr>{header}</tr></thead><tbody>{body}</tbody>")
    focusable = {"role": "group", "aria-label": caption or ", ".join(columns), "tabindex": 0}
    return tag("div", whole, style="overflow-x:auto", **focusable)


def jpeg_image(read: Callable[[], bytes], alt: str, max_width_px: int) -> Html:
    """Return an `<img>` with the JPEG that `read` returns, shrunk if too large: see `guarded`."""

    def image() -> str:
        data = shrink_jpeg(read(), SHARP * max_width_px)
        width = min(max_width_px, Image.open(io.BytesIO(data)).width)
        source = f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"
        alt_text = escape(plain_text(alt, 1_000))
        return (
            f'<img src="{source}" alt="{alt_text}" width="{width}" '
            'style="max-width:100%;height:auto">'
        )

    return guarded("The image", image)


def plain_text(value: object, max_chars: int) -> str:
    """Return a value as one line of printable text, not escaped, cut to `max_chars`.

    None becomes a dash. Numbers get thousands separators, and floats four significant digits.
    """
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.4g}"
    return printable(_WHITESPACE.sub(" ", str(value)), max_chars)


def shrink_jpeg(jpeg: bytes, max_width_px: int, max_bytes: int = MAX_IMAGE_BYTES) -> bytes:
    """Return a JPEG within both limits: `jpeg` itself, or one of lower quality and size.

    One that is made smaller is at most twice as high as `max_width_px`, too.
    """
    original = Image.open(io.BytesIO(jpeg), formats=["JPEG"])
    if len(jpeg) <= max_bytes and original.width <= max_width_px:
        return jpeg
    size = (max_width_px, 2 * max_width_px)
    original.draft("RGB", size)  # the JPEG decoder itself scales down, many times faster
    small = original.convert("RGB")
    while True:
        small.thumbnail(size, reducing_gap=2.0)
        for quality in QUALITIES:
            buffer = io.BytesIO()
            small.save(buffer, "JPEG", quality=quality)
            if buffer.tell() <= max_bytes:
                return buffer.getvalue()
        size = (max(1, small.width * 3 // 4), max(1, small.height * 3 // 4))


def _row(cells: Sequence[object], is_fact: bool = False) -> Html:
    first, *others = cells
    row = [tag("th", first, scope="row", style=_LEFT)]
    for cell in others:
        row.append(tag("td", cell, style=_LEFT if is_fact else _style(cell)))
    return tag("tr", *row, style=_ROW)


def _style(cell: object) -> str:
    """Return the style of a cell of a table that can be scrolled."""
    if type(cell) in (int, float):
        return _RIGHT
    if len(str(cell)) > _LONG_CHARS:
        return _LONG
    return _LEFT


def _table(caption: str, inside: str) -> Html:
    heading = Html()
    if caption:
        heading = tag("caption", caption, style=_LEFT)
    return tag("table", heading, Html(inside), style="border-collapse:collapse;margin:0.5em 0")


def title(kind: str, name: str) -> Html:
    """Return the title of a display in bold: the kind of object, if any, and its name."""
    return paragraph(tag("strong", kind, ": " if kind else "", untrusted(name, 1_000)))


def omitted(count: int, noun: str, where: str = "") -> str:
    """Return a paragraph that says how many items are not shown; empty for none."""
    if count <= 0:
        return ""
    if count == 1:
        return paragraph(f"1 more {noun} is not shown{where}.")
    return paragraph(f"{count:,} more {noun}s are not shown{where}.")


def duration_text(seconds: float) -> str:
    """Return a duration: in seconds below a minute, else as a clock shows it."""
    if seconds < 60:
        return f"{seconds:,.3g} s"
    return clock(seconds)
