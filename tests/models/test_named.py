"""A model may be given by its name alone: its server starts when it is first asked."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask, evaluate
from support.model_doubles import Babbler

import atlaskit as ak
import atlasworld as aw
from atlaskit.errors import InputError
from atlaskit.models.names import served_name
from atlaskit.models.protocol import ServerError, Unreachable
from atlaskit.models.serving.server import SERVED, Server, as_model
from atlaskit.models.spec import ModelSpec
from atlasworld.nano.model import PRESET, WEIGHTS

NOBODY = "http://127.0.0.1:9/v1"
NANO = served_name(str(WEIGHTS))


@pytest.fixture
def no_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail each start of a server."""

    def start(self: Server, *_: object) -> None:
        raise ServerError("A server was started.")

    monkeypatch.setattr(Server, "start", start)
    monkeypatch.setattr(Server, "_ensure_running", start)


@pytest.mark.usefixtures("no_start")
def test_a_name_is_a_server_that_has_not_started() -> None:
    for name in ("nano", " nano ", ModelSpec("nano")):
        model = as_model(name)
        assert isinstance(model, Server) and model.name == NANO and model.vlm is None
    assert as_model("some/model").name == "some/model"


NO_MODELS = ("./missing", "nanno", "http:/host:80/v1", "ws://host/v1", "a b/c", "~/no such model")


@pytest.mark.parametrize("wrong", [*NO_MODELS, 3, None, ak.VLM, "  "])
def test_nothing_is_installed_for_what_is_no_model(wrong: Any) -> None:
    words = "is no model: pass nano, a folder .* or an address|no second name" if wrong in NO_MODELS else "vlm "
    with pytest.raises(InputError, match=words):
        as_model(wrong)


def test_an_endpoint_that_is_gone_is_known_by_what_it_served() -> None:
    cache = ak.Cache(None)
    with pytest.raises(Unreachable):
        as_model(NOBODY, cache)
    cache.put_json(SERVED.key(address=NOBODY), "m@1234")
    for replay in (False, True):
        assert as_model(NOBODY, cache, is_replay=replay).name == "m@1234"
    assert as_model(f"{NOBODY} other", cache).name == "other"


@pytest.mark.usefixtures("no_start")
@pytest.mark.parametrize(("parallel", "copies"), [(4, "auto"), (1, 1)])
def test_many_questions_are_asked_of_many_copies(
    monkeypatch: pytest.MonkeyPatch, parallel: int, copies: object
) -> None:
    """One question at a time is answered as fast by one copy, which starts sooner."""
    options = list[Any]()
    monkeypatch.setattr("atlaskit.models.serving.server.serve", lambda *_, **given: options.append(given) or Babbler())
    cases = aw.world(1, 20.0).cases(drawn=True)[:1]
    evaluate(cases, "blind", vlm="nano", parallel=parallel, cache=ak.Cache(None), progress=False)
    assert options == [{"data_parallel": copies}]


@pytest.mark.usefixtures("no_start")
def test_a_replay_by_name_starts_no_server() -> None:
    world, cache = aw.world(1, 20.0), ak.Cache(None)
    small: dict[str, Any] = {"cache": cache, "budget": ak.Budget(calls=9)}
    double = Babbler(1)
    double.name, double.parameters = NANO, as_model("nano").parameters
    double.preset = PRESET
    first = ask(world.drawn, "What?", vlm=double, **small)
    for replay in (True, False):
        assert ask(world.drawn, "What?", vlm="nano", replay=replay, **small).to_json() == first.to_json()
