"""What is known of a model before it is served: names, memory, and the reason of a failure."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT
from support.servers import model_folder

from atlaskit.__main__ import main
from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.tiles import sheet_size
from atlaskit.errors import InputError
from atlaskit.models.names import preset_for, served_name
from atlaskit.models.serving.plan import WORDS, best_of_cards, plan, published, sizes_of
from atlaskit.models.serving.process import failure_reason
from atlaskit.models.serving.server import serve
from atlasworld import World
from atlasworld.nano.model import PRESET, WEIGHTS


def test_a_copy_of_nano_keeps_its_name_under_any_folder_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its preset nano answers nonsense: its tokens span what a schema fixes."""
    mine = tmp_path / "mine"
    shutil.copytree(WEIGHTS, mine)
    assert preset_for(served_name(str(mine))) is PRESET and served_name(str(mine)) == served_name(str(WEIGHTS))
    (mine / "model-00001-of-00002.safetensors").write_bytes(b"trained on")
    assert preset_for(served_name(str(mine))) is PRESET and served_name(str(mine)) != served_name(str(WEIGHTS))
    (mine / "chat_template.jinja").write_text("{{ messages }}")
    assert served_name(str(mine)).startswith("mine@"), "another chat template makes another model"
    mine.rename(tmp_path / "nano")
    monkeypatch.chdir(tmp_path)
    assert serve("nano").name == served_name(str(WEIGHTS)) != serve("./nano").name, "the one that ships wins"


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


REASONS = {
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
    "  Value error, max_model_len (99999999) is too large. [type=value_error, input_value=1]\n"
    "    For further information visit https://errors.pydantic.dev": "max_model_len (99999999) is too large",
    "(APIServer pid=1) ERROR 11-21 16:25:44 [registry.py:1120] ModuleNotFoundError: No module named 'torchvision'\n"
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
    "  Value error, Model architectures ['X'] failed to be inspected. Please check the logs. [type=value_error]\n"
    "": "No module named 'torchvision'",
    "(EngineCore pid=3) ERROR 11-21 16:28:02 [core.py:1510] ValueError: the cache is too small.\n"
    "RuntimeError: Engine core initialization failed. See root cause above.": "the cache is too small",
    "(Worker pid=6) ERROR 11-26 19:44:49 [multiproc_executor.py:9] AssertionError: CPU GDN attention requires BF16.\n"
    "(EngineCore pid=5) ERROR 11-26 19:44:49 [core.py:1512] RuntimeError: Worker failed with error 'CPU GDN attention "
    "requires BF16.', please check the stack trace above for the root cause\n"
    "(APIServer pid=4) ERROR 11-26 19:44:49 [async_llm.py:906] vllm.v1.engine.exceptions.EngineDeadError: EngineCore "
    "encountered an issue. See stack trace (above) for the root cause.": "CPU GDN attention requires BF16",
    "INFO: all is well": "",
}


@pytest.mark.parametrize("log", REASONS)
def test_the_reason_of_a_failure_is_the_most_specific_error(log: str) -> None:
    assert failure_reason(log) == REASONS[log]


def test_weights_are_what_their_files_take(tmp_path: Path) -> None:
    config = dict(published()["Qwen/Qwen3-VL-2B-Instruct"])
    folder = tmp_path / "Qwen3-VL-of-mine"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match="no weights"):
        sizes_of(str(folder))
    for number, size in enumerate((3_000_000, 1_000_000)):
        (folder / f"model-{number}.safetensors").write_bytes(bytes(size))
    assert sizes_of(str(folder)).weights == 4_000_000
    assert plan(str(folder), 24, sheet_size).arguments == ("--max-model-len", "74752")
    (folder / "config.json").write_text(json.dumps({**config, "quantization_config": {"quant_method": "fp8"}}))
    with (folder / "model-0.safetensors").open("r+b") as file:
        file.truncate(9 * 2**30)  # leaves room for one conversation only if it is halved
    with pytest.raises(InputError, match=r"its weights alone are 9.0 GB\."):
        plan(str(folder), 12, sheet_size)


@pytest.mark.parametrize("name", published())
def test_a_larger_card_never_does_less(name: str) -> None:
    before = (0, 0)
    for gb in range(8, 160, 4):
        try:
            found = plan(name, gb, sheet_size)
        except InputError as error:
            assert before == (0, 0) and "does not fit" in str(error)
            continue
        assert found.weights + found.conversations * found.per_conversation < gb * 2**30
        assert (found.k * found.cell, found.conversations) >= before or found.k * found.cell > before[0]
        before = (found.k * found.cell, 0)


def test_a_card_that_is_too_small_gets_a_smaller_grid_then_another_model() -> None:
    small = plan("Qwen/Qwen3-VL-4B-Instruct", 12, sheet_size)
    assert small.is_fp8 and small.k * small.cell < 8 * 320 and small.conversations >= 1
    with pytest.raises(InputError, match="Serve Qwen/Qwen3-VL-2B-Instruct"):
        plan("Qwen/Qwen3-VL-30B-A3B-Instruct", 12, sheet_size)
    assert [each.gb for each in best_of_cards(sheet_size)] == [141, 80, 48, 24, 12]
    paper = plan("Qwen/Qwen3.5-35B-A3B", 80, sheet_size)
    assert paper.is_fp8 and paper.arguments == ("--max-model-len", "74752", "--quantization", "fp8")


def test_a_plan_of_a_folder_starts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text(json.dumps(published()["Qwen/Qwen3-VL-2B-Instruct"]))
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    assert main(["serve", str(tmp_path), "--plan", "24"]) == 0
    assert "--max-model-len 74752" in capsys.readouterr().out
    (tmp_path / "config.json").write_text("{}")
    assert main(["serve", str(tmp_path), "--plan", "24"]) == 2
    assert "lacks" in capsys.readouterr().err


def test_a_plan_has_room_for_the_sheets_that_are_sent(world: World, cache: Cache) -> None:
    """16 of the size that the environment draws, with strips and gutters, and the words."""
    found = plan("Qwen/Qwen3-VL-8B-Instruct", 80, sheet_size)
    atlas = Atlas(world.drawn, k=found.k, cell=found.cell, fit="native", ruled=True, cache=cache)
    width, height = atlas.reset().view.size
    assert found.context == 16 * math.ceil(width / 32) * math.ceil(height / 32) + WORDS


def test_the_pages_show_the_plan() -> None:
    command = [sys.executable, "tools/serving_plan.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
