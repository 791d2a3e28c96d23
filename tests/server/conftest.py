"""A tiny untrained model, and the settings with which it is served."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from server.tiny_families import make_families

from atlaskit.models.serving.plan import cores


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of 4 million random weights, of nano's architecture, with its own tokenizer."""
    directory = tmp_path_factory.mktemp("model")
    make_families(("idefics3",), directory)
    return directory / "idefics3"


@pytest.fixture(scope="module")
def small_and_offline() -> Iterator[None]:
    """Let a server take little memory, and download nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield


@pytest.fixture(scope="session", autouse=True)
def share_of_the_cores() -> Iterator[None]:
    """Let a server compute on its share of the cores.

    Servers of several workers that all compute on all cores wait for each other's threads: a test
    of half a minute then takes twenty.
    """
    share = cores() // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", str(max(1, share)))
        patch.setenv("VLLM_CPU_OMP_THREADS_BIND", "nobind")
        yield
