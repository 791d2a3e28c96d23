"""Questions about videos with known answers: published datasets, and tables of your own."""

from atlaskit.benchmarks.datasets.choices import egoschema, longtimescope, lvbench, mlvu
from atlaskit.benchmarks.datasets.grounding import (
    cgbench,
    charades,
    comet,
    extremewhen,
    qvhighlights,
    with_absent,
)
from atlaskit.benchmarks.datasets.longvideobench import longvideobench
from atlaskit.benchmarks.datasets.rows import skip_bad
from atlaskit.benchmarks.datasets.table import table
from atlaskit.benchmarks.datasets.videomme import videomme, videomme_v2
from atlaskit.benchmarks.published import published
from atlaskit.benchmarks.tenhour import standard_and_long, ten_hour

__all__ = [
    "cgbench",
    "charades",
    "comet",
    "egoschema",
    "extremewhen",
    "longtimescope",
    "longvideobench",
    "lvbench",
    "mlvu",
    "published",
    "qvhighlights",
    "skip_bad",
    "standard_and_long",
    "table",
    "ten_hour",
    "videomme",
    "videomme_v2",
    "with_absent",
]


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
