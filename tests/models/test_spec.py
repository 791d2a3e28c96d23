"""The words that name a model are read back as written; errors are one sentence, no secrets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import atlaskit as ak
from atlaskit.errors import InputError
from atlaskit.models.dialect import DIALECTS
from atlaskit.models.serving.server import serve
from atlaskit.models.spec import ModelSpec

URL = "https://host.example/v1"
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("C",)), min_size=1, max_size=12)
NAMES = WORDS.filter(lambda name: not name.startswith("-") and name.strip() == name)
JSON = st.recursive(st.none() | st.booleans() | st.integers() | WORDS, lambda inner: st.lists(inner, max_size=2))


@given(
    name=st.none() | NAMES,
    dialect=st.none() | st.sampled_from(sorted(DIALECTS)),
    key_env=st.none() | st.from_regex("[A-Z_][A-Z0-9_]{0,9}", fullmatch=True),
    max_tokens=st.none() | st.integers(1, 10**6),
    thinking=st.sampled_from([None, False]),
    extra_body=st.none() | st.dictionaries(WORDS, JSON, max_size=3),
    headers=st.none() | st.just(("X-Org: acme", "api-key: $MY_KEY")),
    timeout_s=st.none() | st.integers(1, 10**5).map(float),
    rpm=st.none() | st.sampled_from([0.5, 30.0]),
)
def test_a_model_is_read_back_from_its_words(name: str | None, **options: Any) -> None:
    spec = ModelSpec(URL, name, **options)
    assert ModelSpec.parse(str(spec)) == spec
    here = ModelSpec(name or "nano", max_tokens=options["max_tokens"], extra_body=options["extra_body"])
    assert ModelSpec.parse(str(here)) == here


def test_a_header_may_name_a_variable_and_shows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret-1")
    spec = ModelSpec.parse(f"{URL} m --header 'api-key: $MY_KEY' --header 'X-Org: acme' --header 'X-Token: abc-1'")
    assert spec.access() == {"headers": {"api-key": "sk-very-secret-1", "X-Org": "acme", "X-Token": "abc-1"}}
    assert str(spec).endswith("--header 'api-key: $MY_KEY' --header 'X-Org: acme' --header 'X-Token: ***'")
    assert "secret" not in repr(spec) and "abc-1" not in repr(spec)
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(InputError, match="MY_KEY is missing or empty"):
        spec.access()


def test_a_folder_may_have_blanks_in_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "my weights --no-thinking"
    folder.mkdir()
    spec = ModelSpec(str(folder), max_tokens=5)
    assert ModelSpec.parse(str(spec)) == spec and ModelSpec.parse(str(folder)) == ModelSpec(str(folder))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "vlm is empty"),
        ("nano other", "'other' follows 'nano', which is no address"),
        (f"{URL} a b", "got 3 words"),
        ("nano --header 'a: b'", "--header is for an endpoint, and 'nano' is no address"),
        (f"{URL} m --rpm -3", "--rpm must be a positive number"),
        (f"{URL} m --dialect klingon", "dialect must be one of"),
        (f"{URL} m --max-tokens many", "--max-tokens: invalid int value: 'many'"),
        (f"{URL} m --extra-body '[1]'", "must be a JSON object, such as"),
        (f"{URL} m --think", "and no other options"),
    ],
)
def test_wrong_words_give_one_sentence(words: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        ModelSpec.parse(words)


@pytest.mark.parametrize(
    "words",
    ["localhost", "localhost:11434/v1", "10.0.0.7", "gpu_1:8000/v1", "api.x.com/api/v1/", "[::1]:8000", "//host/v1"],
)
def test_an_address_without_its_beginning_is_no_model_to_serve(words: str) -> None:
    with pytest.raises(InputError, match=f"write http://{re.escape(words.lstrip('/'))}, or https://"):
        ModelSpec.parse(words)


@pytest.mark.parametrize("words", ["--key-env sk-secret", "--api-key secret", "--key-env=gsk_secret"])
def test_a_key_among_the_words_is_refused_and_not_repeated(words: str) -> None:
    with pytest.raises(InputError) as caught:
        ModelSpec.parse(f"{URL} m {words}")
    assert "secret" not in str(caught.value)


def test_the_key_comes_from_the_environment_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ModelSpec(URL, "m", key_env="ATLASKIT_TEST_KEY")
    for value in (None, "", "  "):
        if value is not None:
            monkeypatch.setenv("ATLASKIT_TEST_KEY", value)
        with pytest.raises(InputError, match="ATLASKIT_TEST_KEY is missing or empty"):
            spec.access()
    monkeypatch.setenv("ATLASKIT_TEST_KEY", "very-secret-key")
    assert spec.access() == {"api_key": "very-secret-key"}
    assert "very-secret-key" not in f"{spec} {spec!r} {spec.settings} {serve(spec)!r} {serve(spec).parameters}"


def test_a_named_endpoint_is_not_asked_for_its_name() -> None:
    server = serve("http://127.0.0.1:9/v1 m --dialect plain --max-tokens 7 --no-thinking")
    assert server.name == "m"
    assert server.parameters == ak.VLM(model="m", dialect="plain", max_tokens=7, thinking=False).parameters
    with server as vlm:
        assert vlm.name == "m" and vlm.dialect.name == "plain"
