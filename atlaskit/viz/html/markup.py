"""HTML that is safe and reads anywhere: plain elements, tables with heads, pictures with words.

What is `Html` was made here; all else that is put into an element or an attribute is text, and is escaped: the signs of
markup, and what is no letter (controls, changes of direction) as `errors.printable` does it; a line break is a blank,
and a formula is its letters.
Knows nothing of what is shown.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape

from PIL import Image

from atlaskit.errors import printable, reason

MOST_LETTERS = 400
"""Of one text, where nothing else is said."""
MOST_PICTURE_BYTES = 180_000
"""A picture that takes more is made smaller."""
QUALITIES = (82, 70, 55, 40)
_LONG = re.compile(r"(\S{40})(?=\S)")
_BLANKS = re.compile(r"\s+")
_TEX = re.compile(r"[$\\]")
"""What begins a formula: notebooks set `$5 or $10` as one, unless each sign stands in an element of its own."""
_LEFT, _RIGHT = (f"text-align:{side};vertical-align:top;padding:2px 8px" for side in ("left", "right"))
_ROW = "border-top:1px solid rgba(128,128,128,0.3)"


class Html(str):
    """Markup that was made here, and is not escaped again."""

    __slots__ = ()


def text(value: object, most: int = MOST_LETTERS) -> Html:
    """Return any value as text in markup: cut where it is long, with places at which a long word may break."""
    if isinstance(value, Html):
        return value
    pieces = _LONG.sub("\\1\n", told(value, most)).split("\n")
    return Html(_TEX.sub(r"<span>\g<0></span>", "<wbr>".join(escape(piece) for piece in pieces)))


def strange(value: object, most: int = MOST_LETTERS) -> Html:
    """Return a stranger's text, whose direction of writing is kept to itself."""
    return Html(f"<bdi>{text(value, most)}</bdi>")


def tag(name: str, *inside: object, **attributes: object) -> Html:
    """Return an element. What is inside, and what its attributes say, is escaped unless it is Html."""
    said = "".join(f' {key}="{escape(told(value, 2_000))}"' for key, value in attributes.items())
    return Html(f"<{name}{said}>{''.join(map(text, inside))}</{name}>")


def paragraph(*inside: object) -> Html:
    """Return a paragraph."""
    return tag("p", *inside, style="margin:0.3em 0")


def card(*parts: str) -> Html:
    """Return parts, one below the other, as what is shown of one object."""
    return tag("div", *(each for each in parts if each), style="max-width:60em;overflow-x:auto")


def part(what: str, make: Callable[[], str]) -> Html:
    """Return what `make` makes; where it cannot, for whatever reason, a sentence that says so in its place."""
    try:
        return Html(make())
    except Exception as error:  # a display is the last place to raise: it is looked at to see what is wrong
        try:
            why = reason(error)
        except Exception:
            why = type(error).__name__
        return paragraph(f"{what} cannot be shown: ", strange(why))


def facts(rows: Iterable[tuple[str, object]]) -> Html:
    """Return facts as a table without a head: what, and how much."""
    return _table("", "".join(_row([name, value], numbers=False) for name, value in rows))


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """Return a table; the first cell of each row names it."""
    heads = "".join(tag("th", column, scope="col", style=_LEFT) for column in columns)
    body = "".join(_row(row) for row in rows)
    return _table(caption, f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody>")


def picture(jpeg: Callable[[], bytes], alt: str, widest_px: int) -> Html:
    """Return a picture, made smaller where it is large, or a sentence in its place."""
    return part("The picture", lambda: image(bounded(jpeg(), widest_px), "jpeg", alt, widest_px))


def image(data: bytes, form: str, alt: str, width_px: int) -> Html:
    """Return an image that is carried in the page, shown at most so wide."""
    width = min(width_px, Image.open(io.BytesIO(data)).width)
    source = f"data:image/{form};base64,{base64.b64encode(data).decode()}"
    words = escape(told(alt, 1_000))
    return Html(f'<img src="{source}" alt="{words}" width="{width}" style="max-width:100%;height:auto">')


def told(value: object, most: int) -> str:
    """Return any value as words that are only shown: on one line, and each sign that is no letter as one that is."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.4g}"
    return printable(_BLANKS.sub(" ", str(value)), most)


def _row(cells: Sequence[object], numbers: bool = True) -> Html:
    head, *others = cells
    data = [tag("td", cell, style=_RIGHT if numbers and type(cell) in (int, float) else _LEFT) for cell in others]
    return tag("tr", tag("th", head, scope="row", style=_LEFT), *data, style=_ROW)


def _table(caption: str, inside: str) -> Html:
    named = tag("caption", caption, style=_LEFT) if caption else ""
    return tag("table", Html(named), Html(inside), style="border-collapse:collapse;margin:0.5em 0")


def bounded(jpeg: bytes, widest_px: int, most_bytes: int = MOST_PICTURE_BYTES) -> bytes:
    """Return a JPEG of at most that width and that many bytes: itself, if it is that already."""
    picture = Image.open(io.BytesIO(jpeg), formats=["JPEG"])
    if len(jpeg) <= most_bytes and picture.width <= widest_px:
        return jpeg
    size = (widest_px, 2 * widest_px)
    picture.draft("RGB", size)  # a decoder that makes a smaller picture at once is many times quicker
    small = picture.convert("RGB")
    while True:
        small.thumbnail(size, reducing_gap=2.0)
        for quality in QUALITIES:
            buffer = io.BytesIO()
            small.save(buffer, "JPEG", quality=quality)
            if buffer.tell() <= most_bytes:
                return buffer.getvalue()
        size = (max(1, small.width * 3 // 4), max(1, small.height * 3 // 4))
