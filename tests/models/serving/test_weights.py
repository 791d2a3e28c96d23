"""Names of served models."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.servers import model_folder

from atlaskit.errors import InputError
from atlaskit.models.presets import NANO, SHIPPED, preset_for
from atlaskit.models.serving.server import serve
from atlaskit.models.serving.weights import served_name


def test_a_copy_of_nano_keeps_its_name_under_any_folder_name(tmp_path: Path) -> None:
    """Without its preset nano answers nonsense: its tokens span what a schema fixes."""
    mine = tmp_path / "mine"
    shutil.copytree(SHIPPED["nano"], mine)
    assert preset_for(served_name(str(mine))) is NANO and served_name(str(mine)) == served_name(str(SHIPPED["nano"]))
    (mine / "model-00001-of-00002.safetensors").write_bytes(b"trained on")
    assert preset_for(served_name(str(mine))) is NANO and served_name(str(mine)) != served_name(str(SHIPPED["nano"]))
    (mine / "chat_template.jinja").write_text("{{ messages }}")
    assert served_name(str(mine)).startswith("mine@"), "another chat template makes another model"


def test_the_name_of_a_shipped_model_wins_over_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The repository has a folder of this name."""
    model_folder(tmp_path).rename(tmp_path / "nano")
    monkeypatch.chdir(tmp_path)
    assert serve("nano").name == served_name(str(SHIPPED["nano"])) != serve("./nano").name


def test_a_folder_has_its_own_name_if_the_shipped_weights_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SHIPPED, "nano", tmp_path / "gone")
    model = model_folder(tmp_path)
    assert served_name(str(model)).startswith("model@"), "neither has a template"
    (model / "chat_template.jinja").write_text("{{ messages }}")
    assert served_name(str(model)).startswith("model@")


def test_the_name_changes_with_weights_and_arguments_only(tmp_path: Path) -> None:
    model = model_folder(tmp_path)
    first = served_name(str(model))
    assert first.startswith("model@")
    (model / "model.safetensors").write_bytes(b"1")
    second = served_name(str(model))
    (tmp_path / "there").mkdir()
    moved = model.rename(tmp_path / "there" / "model")
    (moved / "README.md").write_text("A model card.")
    assert first != second == served_name(str(moved)), "neither the place nor a README changes replies"
    assert served_name("Qwen/Qwen3-VL-8B-Instruct") == "Qwen/Qwen3-VL-8B-Instruct"
    names = {served_name(str(moved), arguments) for arguments in ((), ("--dtype", "float16"), ("--dtype", "float32"))}
    assert len(names) == 3 and second in names
    assert served_name("a/model", ["--dtype", "float16"]).startswith("a/model@")


@pytest.mark.parametrize("model", ["/nowhere/at/all", "./nothing", " ", "~/no such model"])
def test_a_missing_model_folder_is_an_error_of_one_line(model: str) -> None:
    with pytest.raises(InputError, match="no model folder" if model.strip() else "is empty") as caught:
        serve(model)
    assert "\n" not in str(caught.value)
