"""MkDocs hooks of the documentation site (`hooks` in mkdocs.yml).

`<!-- include: FILE -->` on a line of its own inserts a Markdown file of the repository's root;
`<!-- help: COMMAND -->` inserts the output of `atlaskit COMMAND --help`. A public name without an
entry in the reference causes a warning, which `mkdocs build --strict` turns into an error.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import logging
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any

ROOT = Path(__file__).parents[1]
LOG = logging.getLogger("mkdocs.hooks.atlaskit")


BOOSTS = {
    "changelog": 0.02,
    **dict.fromkeys(("architecture", "contributing"), 0.1),
    **dict.fromkeys(("adding", "reference/", "trace"), 0.3),
    **dict.fromkeys(("assistants", "measurements", "reinforcement-learning"), 0.5),
}
"""The weight of a page in the site's search, by the beginning of its path; 1 for all others."""


def on_page_markdown(markdown: str, page: Any, **context: Any) -> str:
    """Expand the include and help comments of a page, and set its weight in the site's search.

    The search leaves out the decision records, which are for contributors.
    """
    boost = next((BOOSTS[start] for start in BOOSTS if page.file.src_uri.startswith(start)), 1)
    page.meta.setdefault("search", {})["boost"] = boost
    if page.file.src_uri.startswith("decisions/"):
        page.meta["search"]["exclude"] = True
    markdown = re.sub(
        r"^<!-- include: (\S+) -->$",
        lambda match: read_root_file(match[1]),
        markdown,
        flags=re.MULTILINE,
    )
    return re.sub(
        r"^<!-- help:(.*) -->$",
        lambda match: command_help(match[1].split()),
        markdown,
        flags=re.MULTILINE,
    )


def on_post_build(config: Any) -> None:
    """Write the page of the design; warn about each public name without an entry."""
    (Path(config.site_dir) / "design.html").write_text(design(), encoding="utf-8")
    inventory = (Path(config.site_dir) / "objects.inv").read_bytes().split(b"\n", 4)[4]
    entries = {line.split()[0] for line in zlib.decompress(inventory).decode().splitlines()}
    for name, entry in public_names():
        if entry not in entries:
            LOG.warning(
                f"{name} has no entry ({entry}) in the reference: add it to a page of "
                "docs/reference/."
            )


def design() -> str:
    """Return the page that shows each component of the widgets' design, with the widgets' CSS."""
    from atlaskit.viz.widgets import bridge

    _, explorer_style = bridge.page("explorer")
    table_style = (ROOT / "atlaskit/viz/widgets/runtable.css").read_text(encoding="utf-8")
    template = Template((ROOT / "tools" / "design.html").read_text(encoding="utf-8"))
    return template.substitute(style=explorer_style + table_style)


def public_names() -> Iterator[tuple[str, str]]:
    """Yield each public name and the path of its entry in the reference.

    The public classes and functions of a public module are included.
    """
    import atlaskit
    import atlasworld

    for name in atlasworld.__all__:
        yield f"atlasworld.{name}", f"atlasworld.{name}"
    for name in atlaskit.__all__:
        yield f"atlaskit.{name}", f"atlaskit.{name}"
        value = getattr(atlaskit, name)
        if not inspect.ismodule(value):
            continue
        for inner in getattr(value, "__all__", ()):
            member = getattr(value, inner)
            if callable(member):
                yield f"atlaskit.{name}.{inner}", f"{member.__module__}.{member.__qualname__}"


def read_root_file(name: str) -> str:
    """Return a Markdown file of the root, with its links into docs/ made relative to docs/."""
    return (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")


def command_help(words: list[str]) -> str:
    """Return the --help text of a command as a fenced block."""
    from atlaskit.__main__ import main

    os.environ["COLUMNS"] = "88"
    with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return f"```text\n{output.getvalue()}```"
