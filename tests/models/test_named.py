"""Models as people name them."""

from __future__ import annotations

import pytest

import atlaskit as ak
from atlaskit.caching.keys import served_key
from atlaskit.errors import InputError
from atlaskit.models import named
from atlaskit.models.errors import Unreachable
from atlaskit.models.named import as_model, as_model_or_maker

NOBODY = "http://127.0.0.1:9/v1"


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named, "LOCAL_SERVER", NOBODY)


@pytest.mark.usefixtures("no_server")
def test_a_name_without_a_server_tells_the_command_that_starts_one() -> None:
    with pytest.raises(Unreachable, match=r"no server answers: start it with `python -m atlaskit serve nano`"):
        as_model("nano")


@pytest.mark.usefixtures("no_server")
def test_a_server_that_is_gone_is_known_by_what_it_served() -> None:
    cache = ak.Cache(None)
    cache.put_json(served_key(NOBODY), "nano@1234")
    for replay in (False, True):
        assert as_model(" nano ", cache, is_replay=replay).name == "nano@1234"
        assert as_model(NOBODY, cache, is_replay=replay).name == "nano@1234"
    with pytest.raises(InputError, match=r"serves 'nano@1234', not 'other'"):
        as_model("other", cache)


@pytest.mark.parametrize("wrong", [3, None, ak.VLM, "", "  ", object()])
def test_what_is_no_model_gives_one_sentence(wrong: object) -> None:
    with pytest.raises(InputError, match="vlm "):
        as_model(wrong)  # type: ignore[arg-type]


def test_a_model_and_a_maker_pass() -> None:
    model = ak.VLM(NOBODY, "m")
    assert as_model(model) is model and as_model_or_maker(model) is model
    assert as_model_or_maker(ak.Oracle) is ak.Oracle


@pytest.mark.parametrize("address", ["http://", "http://[x", "https://user:secret@host/v1", "http://a b"])
def test_a_wrong_address_gives_one_sentence(address: str) -> None:
    with pytest.raises(InputError):
        as_model(address)


@pytest.mark.usefixtures("no_server")
def test_every_method_takes_a_name() -> None:
    world = ak.benchmarks.atlasworld(1, 20.0)
    case = next(iter(world.cases(drawn=True)))
    for call in (
        lambda: ak.ask(world.drawn, "What?", vlm="nano", cache=ak.Cache(None)),
        lambda: ak.baselines.uniform(world.drawn, "What?", vlm="nano", cache=ak.Cache(None)),
        lambda: ak.evaluate([case], vlm="nano", cache=ak.Cache(None), progress=False),
        lambda: ak.scaling.by_workers([case], vlm="nano", cache=ak.Cache(None), progress=False),
        lambda: ak.diagnosis.failures([case], vlm="nano", cache=ak.Cache(None)),
    ):
        with pytest.raises(Unreachable, match="atlaskit serve nano"):
            call()
