"""The loopback matrix: imitated services under conditions, and what the client makes of them.

Each cell makes two calls with one client. `tools/service_matrix.py` writes the tables of the docs.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from support.paths import ROOT
from support.services.declare import Cell, Service
from support.services.matrix import CELLS, CONDITIONS, SERVICES, faults, table
from support.services.stage import Clock, played, staged

from atlaskit.models.client import VLM


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_a_cell(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, calls = played(cell, lambda sleep: monkeypatch.setattr("time.sleep", sleep))
    found = faults(cell, calls)
    sent = [sorted(body.keys() - {"messages", "model"}) for body in stage.bodies]
    assert not found, "\n".join([cell.name, *found, f"sent: {sent}"])


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_a_service_is_recognized_at_any_address(service: Service) -> None:
    """On the loopback address no host name helps: the list of models and the headers decide."""
    (cell,) = (each for each in CELLS if each.name == f"{service.name}-detected")
    with staged(cell, Clock()) as stage:
        assert VLM(stage.url + service.base, service.model).dialect.name == service.dialect


@pytest.mark.parametrize("service", [each for each in SERVICES if each.host], ids=lambda service: service.name)
def test_a_hosted_service_is_recognized_by_its_host(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a request: LiteLLM's list, for one, claims to be OpenAI's."""

    def refuse(*args: Any, **rest: Any) -> None:
        raise AssertionError("the host name suffices")

    monkeypatch.setattr("socket.create_connection", refuse)
    vlm = VLM(f"https://{service.host}{service.base}", service.model, api_key="sk-none")
    assert vlm.dialect.name == service.dialect


def test_the_matrix_is_printed() -> None:
    """Shown by `pytest -s`, and kept in the docs."""
    print(f"\n{len(SERVICES)} services × {len(CONDITIONS)} conditions, {len(CELLS)} cells\n\n{table()}")
    names = [cell.name for cell in CELLS]
    assert len(names) == len(set(names)) >= 120


def test_the_docs_show_the_matrix() -> None:
    command = [sys.executable, "tools/service_matrix.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
