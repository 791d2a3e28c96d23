"""The display of a cache: its entries by kind."""

from __future__ import annotations

from itertools import islice

from atlaskit.caching.cache import Cache
from atlaskit.viz.html.markup import Html, card, paragraph, table, untrusted
from atlaskit.viz.html.phrases import omitted, title

MAX_KINDS = 40


def cache(cache: Cache) -> Html:
    """Show the number and size of a cache's entries by kind, with hits and misses."""
    place = "in memory" if cache.directory is None else str(cache.directory)
    stats = cache.stats()
    if not stats:
        return card(title("Cache", place), paragraph("The cache is empty, and nothing was looked up in it."))
    counts = ("entries", "bytes", "hits", "misses", "corrupt")
    total = {count: sum(counted[count] for counted in stats.values()) for count in counts}
    rows = [
        (untrusted(kind, 40), *(counted[count] for count in counts))
        for kind, counted in [*islice(stats.items(), MAX_KINDS), ("all", total)]
    ]
    return card(
        title("Cache", place),
        table("Entries by kind. Hits, misses and damaged entries are those of this Cache.", ("kind", *counts), rows),
        omitted(len(stats) - MAX_KINDS, "kind"),
    )
