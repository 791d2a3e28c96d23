"""`preset_for`: what suits a model, by its name; and another model that must see the same grids."""

from __future__ import annotations

from functools import partial

import pytest

import atlaskit as ak
from atlaskit.models.presets import NANO, Preset, preset_for


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
def test_what_suits_a_model_is_its_preset(vlm: object, expected: Preset) -> None:
    assert preset_for(vlm) == expected  # type: ignore[arg-type]
    search = ak.Search(traversal="dfs").suited_to(vlm)  # type: ignore[arg-type]
    for name in ("k", "cell", "fit", "steps", "plateau"):
        assert getattr(search, name) == getattr(expected, name)
    assert search.traversal == "dfs" and ak.Search(k=3, steps=7).suited_to(vlm).k == 3  # type: ignore[arg-type]
