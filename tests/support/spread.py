"""How tests are given to processes: whole files, and all of JupyterLab to one."""

from xdist.scheduler import LoadFileScheduling

TOGETHER = "tests/browser/"
"""The tests that share a JupyterLab, its tab and its kernel: 15 s of CPU time in every process that
starts them."""


class Spread(LoadFileScheduling):  # type: ignore[misc]
    """Whole files to one process, and all files of JupyterLab to the same one."""

    def _split_scope(self, nodeid: str) -> str:
        return TOGETHER if nodeid.startswith(TOGETHER) else str(super()._split_scope(nodeid))
