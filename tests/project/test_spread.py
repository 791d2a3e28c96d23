"""Which tests `make test` gives to one process."""

from __future__ import annotations

from support.spread import Spread


def test_all_of_jupyterlab_goes_to_one_process_and_other_files_apart() -> None:
    scope_of = Spread.__new__(Spread)._split_scope
    viewer, panels = (scope_of(f"tests/browser/test_{name}.py::test_a") for name in ("viewer", "panels"))
    assert viewer == panels
    walk, again, live = (
        scope_of(f"tests/viz/{test}") for test in ("test_walk.py::a", "test_walk.py::b", "test_live.py::a")
    )
    assert walk == again and len({viewer, walk, live}) == 3
