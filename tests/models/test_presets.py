"""`search_settings`: what suits a model, for another model that must see the same grids."""

from __future__ import annotations

from functools import partial

import pytest

import atlaskit as ak
from atlaskit.models.presets import NANO, Preset


@pytest.mark.parametrize(
    ("vlm", "expected"),
    [
        ("nano", NANO),
        ("nano@0123456789abcdef", NANO),
        (ak.VLM("http://127.0.0.1:9/v1", "nano@0123456789abcdef"), NANO),
        (ak.VLM("http://127.0.0.1:9/v1", "Qwen/Qwen3-VL-8B-Instruct"), Preset()),
        (ak.Oracle, Preset()),
        (partial(ak.Oracle, miss=0.1), Preset()),
    ],
    ids=str,
)
def test_search_settings_are_those_of_the_preset(vlm: object, expected: Preset) -> None:
    assert ak.search_settings(vlm) == expected.search_settings  # type: ignore[arg-type]
    assert set(ak.search_settings("nano")) == {"k", "cell", "fit", "steps", "plateau"}
