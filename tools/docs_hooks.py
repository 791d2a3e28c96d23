"""MkDocs hooks of the documentation site (`hooks` in mkdocs.yml).

`<!-- include: FILE -->` on a line of its own inserts a Markdown file of the repository's root, and
`<!-- help: COMMAND -->` the output of `atlaskit COMMAND --help`, so neither is copied. A public name
without an entry in the reference causes a warning; `mkdocs build --strict` turns it into an error.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import zlib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOG = logging.getLogger("mkdocs.hooks.atlaskit")


def on_page_markdown(markdown: str, **about: Any) -> str:
    """Expand the include and help comments of a page."""
    markdown = re.sub(r"^<!-- include: (\S+) -->$", lambda found: included(found[1]), markdown, flags=re.MULTILINE)
    return re.sub(r"^<!-- help:(.*) -->$", lambda found: command_help(found[1].split()), markdown, flags=re.MULTILINE)


def on_post_build(config: Any) -> None:
    """Warn about each name in `atlaskit.__all__` that has no entry in the reference."""
    import atlaskit

    inventory = (Path(config.site_dir) / "objects.inv").read_bytes().split(b"\n", 4)[4]
    entries = {line.split()[0] for line in zlib.decompress(inventory).decode().splitlines()}
    for name in atlaskit.__all__:
        if f"atlaskit.{name}" not in entries:
            LOG.warning(f"atlaskit.{name} has no entry in the reference: add it to a page of docs/reference/.")


def included(name: str) -> str:
    """Return a Markdown file of the root; its links into docs/ become relative to docs/."""
    return (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")


def command_help(words: list[str]) -> str:
    """Return the --help text of a command as a fenced block."""
    from atlaskit.__main__ import main

    os.environ["COLUMNS"] = "96"
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return f"```text\n{printed.getvalue()}```"
