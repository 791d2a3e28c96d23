"""A model is given by its name or address, with options in words; errors are one sentence."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asking import ask
from support.model_doubles import Babbler

import atlaskit as ak
from atlaskit.errors import InputError
from atlaskit.models.dialect import DIALECTS, OWN_FIELDS
from atlaskit.models.names import served_name
from atlaskit.models.protocol import ServerError, Unreachable
from atlaskit.models.serving.server import SERVED, Server, as_model, serve
from atlaskit.models.spec import ModelSpec
from atlasworld import World
from atlasworld.nano.model import PRESET, WEIGHTS

URL = "https://host.example/v1"
NOBODY = "http://127.0.0.1:9/v1"
NANO = served_name(str(WEIGHTS))
LONG = ("~nobody-here/m", "a" * 300, f"a/{'b' * 300}")
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("C",)), min_size=1, max_size=12)
NAMES = WORDS.filter(lambda name: not name.startswith("-") and name.strip() == name)
FIELDS = WORDS.filter(lambda name: name not in OWN_FIELDS)
JSON = st.recursive(st.none() | st.booleans() | st.integers() | WORDS, lambda inner: st.lists(inner, max_size=2))


@given(
    name=st.none() | NAMES,
    dialect=st.none() | st.sampled_from(sorted(DIALECTS)),
    key_env=st.none() | st.from_regex("[A-Z_][A-Z0-9_]{0,9}", fullmatch=True),
    max_tokens=st.none() | st.integers(1, 10**6),
    thinking=st.sampled_from([None, False]),
    extra_body=st.none() | st.dictionaries(FIELDS, JSON, max_size=3),
    headers=st.none() | st.just(("X-Org: acme", "api-key: $MY_KEY")),
    timeout_s=st.none() | st.integers(1, 10**5).map(float),
    rpm=st.none() | st.sampled_from([0.5, 30.0]),
)
def test_a_model_is_read_back_from_its_words(name: str | None, **options: Any) -> None:
    spec = ModelSpec(URL, name, **options)
    assert ModelSpec.parse(str(spec)) == spec
    here = ModelSpec(name or "nano", max_tokens=options["max_tokens"], extra_body=options["extra_body"])
    assert ModelSpec.parse(str(here)) == here


@pytest.mark.parametrize("body", [{"n": None}, {"model": "m"}, {"top_k": float("nan")}])
def test_a_field_that_no_request_takes_is_refused_at_once(body: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="extra_body must"):
        ModelSpec(URL, "m", extra_body=body)


def test_a_header_may_name_a_variable_and_shows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret-1")
    spec = ModelSpec.parse(f"{URL} m --header 'api-key: $MY_KEY' --header 'X-Org: acme' --header 'X-Token: abc-1'")
    assert spec.access() == {"headers": {"api-key": "sk-very-secret-1", "X-Org": "acme", "X-Token": "abc-1"}}
    assert str(spec).endswith("--header 'api-key: $MY_KEY' --header 'X-Org: acme' --header 'X-Token: ***'")
    assert "secret" not in repr(spec) and "abc-1" not in repr(spec)
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(InputError, match="MY_KEY is missing or empty"):
        spec.access()


def test_the_key_comes_from_the_environment_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ModelSpec(URL, "m", key_env="ATLASKIT_TEST_KEY")
    monkeypatch.setenv("ATLASKIT_TEST_KEY", "  ")
    with pytest.raises(InputError, match="ATLASKIT_TEST_KEY is missing or empty"):
        spec.access()
    monkeypatch.setenv("ATLASKIT_TEST_KEY", "very-secret-key")
    assert spec.access() == {"api_key": "very-secret-key"}
    assert "very-secret-key" not in f"{spec} {spec!r} {spec.settings} {serve(spec)!r} {serve(spec).parameters}"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "vlm is empty"),
        (f"{URL} a b", "got 3 words"),
        (f"{URL} m --rpm -3", "--rpm must be a positive number"),
        (f"{URL} m --max-tokens sk-0123456789abcdef", "--max-tokens: invalid int value[.]$"),
        (f"{URL} m --extra-body '[1]'", "must be a JSON object, such as"),
        (f"{URL} m --key-env sk-secret", "^(?!.*secret).*never the key itself"),
        ("localhost", "write http://localhost, or https://"),
        ("api.x.com/api/v1/", "write http://api.x.com/api/v1/, or"),
        ("[::1]:8000", r"write http://\[::1\]:8000, or"),
    ],
)
def test_wrong_words_give_one_sentence(words: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        ModelSpec.parse(words)
    assert "\n" not in str(caught.value)


def test_a_named_endpoint_is_not_asked_for_its_name() -> None:
    server = serve(f"{NOBODY} m --dialect plain --max-tokens 7 --no-thinking")
    assert server.parameters == ak.VLM(model="m", dialect="plain", max_tokens=7, thinking=False).parameters
    with server as vlm:
        assert server.name == vlm.name == "m" and vlm.dialect.name == "plain"


def test_an_endpoint_that_is_gone_is_known_by_what_it_served() -> None:
    cache = ak.Cache(None)
    with pytest.raises(Unreachable):
        as_model(NOBODY, cache)
    cache.put_json(SERVED.key(address=NOBODY), "m@1234")
    for replay in (False, True):
        assert as_model(NOBODY, cache, is_replay=replay).name == "m@1234"
    assert as_model(f"{NOBODY} other", cache).name == "other"


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


@pytest.mark.usefixtures("no_start")
@pytest.mark.parametrize(
    "wrong", ["./missing", "nanno", "http:/host:80/v1", "ws://host/v1", "a b/c", 3, ak.VLM, "  ", *LONG]
)
def test_no_server_starts_for_what_is_no_model(wrong: Any) -> None:
    with pytest.raises(InputError, match="is no model: pass nano, a folder .* or an address|no second name|^vlm "):
        as_model(wrong)


@pytest.mark.usefixtures("no_start")
def test_a_replay_by_name_starts_no_server(world: World) -> None:
    small: dict[str, Any] = {"cache": ak.Cache(None), "budget": ak.Budget(calls=9)}
    double = Babbler(1)
    double.name = NANO
    double.parameters = as_model("nano").parameters
    double.preset = PRESET
    first = ask(world.drawn, "What?", vlm=double, **small)
    for replay in (True, False):
        assert ask(world.drawn, "What?", vlm="nano", replay=replay, **small).to_json() == first.to_json()
