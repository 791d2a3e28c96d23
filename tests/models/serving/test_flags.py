"""What a server is started with: the name and the memory of a model, and vLLM's command line."""

import json
import math
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT
from support.servers import model_folder

from atlaskit.__main__ import main
from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.tiles import sheet_size
from atlaskit.errors import InputError
from atlaskit.models.names import preset_for, preset_named, served_family, served_name
from atlaskit.models.protocol import MOST_IMAGES
from atlaskit.models.serving import plan
from atlaskit.models.serving.flags import ServerFlags, environment
from atlaskit.models.serving.install import Build
from atlaskit.models.serving.plan import WORDS, best_of_cards, published, sizes_of
from atlaskit.models.serving.process import failure_reason
from atlaskit.models.serving.server import serve
from atlasworld import World
from atlasworld.nano.model import PRESET, WEIGHTS


def flags_of(name: str, build: Build, flags: ServerFlags | None = None) -> dict[str, str]:
    """Return the flags of vLLM's command line and what comes after each."""
    preset = preset_named(name)
    command = (flags or ServerFlags()).command("python", name, name, 8123, build, preset=preset)
    return {word: after for word, after in zip(command, [*command[1:], ""], strict=True) if word.startswith("--")}


def folder_of(path: Path, config: dict[str, Any], template: str = "") -> str:
    """Make the folder of a model that has no weights."""
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    (path / "chat_template.jinja").write_text(template)
    return str(path)


def test_the_command_line() -> None:
    flags = ServerFlags(tensor_parallel=2, data_parallel=4, arguments=("--max-model-len", "32768"))
    command = flags.command("python", "a/model", "name", 8123, "serve-gpu", preset=preset_named("name"))
    assert command[:3] == ["python", "-m", "vllm.entrypoints.openai.api_server"]
    assert command[-2:] == ["--max-model-len", "32768"], "vLLM takes the last of two values: the user's"
    gpu = flags_of("name", "serve-gpu", flags)
    assert (gpu["--served-model-name"], gpu["--host"], gpu["--port"]) == ("name", "127.0.0.1", "8123")
    assert (gpu["--tensor-parallel-size"], gpu["--data-parallel-size"]) == ("2", "4")
    assert json.loads(gpu["--limit-mm-per-prompt"]) == {"image": MOST_IMAGES, "video": 0}
    assert "--enforce-eager" in flags_of("name", "serve-cpu") and "--enforce-eager" not in gpu
    assert "--no-enable-prefix-caching" in flags_of("tiny-whisper@0a", "serve-gpu"), "it has an encoder"


@pytest.mark.parametrize(
    ("name", "config", "cpu", "dtype"),
    [
        ("Qwen/Qwen3-VL-8B-Instruct", None, "sse2 avx2", "float32"),
        ("Qwen/Qwen3-VL-8B-Instruct", None, "avx2 avx512f avx512bw", "bfloat16"),
        ("adapted", {"model_type": "qwen3_5_moe"}, "sse2 avx2", "bfloat16"),
        ("adapted", {"text_config": {"layer_types": ["full_attention"]}}, "sse2 avx2", "float32"),
    ],
)
def test_the_dtype_is_the_fastest_of_the_processor_that_the_model_can_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, config: Any, cpu: str, dtype: str
) -> None:
    """vLLM's engine dies at the first request otherwise ("CPU GDN attention requires BF16")."""
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"flags\t\t: fpu {cpu}\n")
    fast = plan.fast_dtype(cpuinfo)
    monkeypatch.setattr(plan, "fast_dtype", lambda: fast)
    name = folder_of(tmp_path / name, config) if config else name
    assert flags_of(name, "serve-cpu")["--dtype"] == dtype


def test_the_number_of_copies_follows_from_the_model_and_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "engines", lambda: 6)
    monkeypatch.setattr(plan, "gpus", lambda: 4)

    def copies(name: str, build: Build, flags: ServerFlags) -> object:
        return flags.resolved(preset_named(name), build).data_parallel

    assert copies("nano@0123456789ab", "serve-cpu", ServerFlags(data_parallel="auto")) == 6
    assert copies("nano@0123456789ab", "serve-cpu", ServerFlags(data_parallel=3)) == 3
    assert copies("some/model", "serve-cpu", ServerFlags(data_parallel="auto")) == 1
    assert copies("some/model", "serve-gpu", ServerFlags(2, "auto")) == 2


@pytest.mark.parametrize(
    ("name", "kind", "template", "family"),
    [
        ("adapted", "qwen3_5_moe", "", "Qwen3.5 and later"),
        ("adapted", "qwen3_vl", "<think>\n", "Qwen3-VL Thinking"),
        ("qwen3.5-ours", "qwen3_vl", "", "Qwen3.5 and later"),
        ("adapted", "something_new", "", "other"),
    ],
)
def test_the_family_of_a_folder_is_that_of_its_weights(
    tmp_path: Path, name: str, kind: str, template: str, family: str
) -> None:
    assert served_family(folder_of(tmp_path / name, {"model_type": kind}, template)).name == family


def test_engines_on_a_cpu_share_cores_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """No engine binds its threads to the cores of another, and none takes all memory."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    monkeypatch.setattr(plan, "cores", lambda: 8)
    monkeypatch.setattr(plan, "_memory_gib", lambda: 24)
    monkeypatch.setattr(plan, "memory_nodes", lambda: 2)

    def variables(copies: int) -> dict[str, str]:
        flags = ServerFlags(data_parallel=copies)
        return dict(environment("serve-cpu", "env/bin/python", preset_named("m"), flags))

    assert (variables(4)["OMP_NUM_THREADS"], variables(4)["VLLM_CPU_KVCACHE_SPACE"]) == ("2", "1")
    assert "OMP_NUM_THREADS" not in variables(1) and variables(1)["VLLM_CPU_KVCACHE_SPACE"] == "4"
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert variables(4)["OMP_NUM_THREADS"] == "3", "the user's own"


@pytest.mark.parametrize(
    ("model", "build", "gib", "most"),
    [
        ("Qwen/Qwen3.6-35B-A3B", "serve-gpu", 77.0, 7),  # weights of 70 GB leave room for few states
        ("Qwen/Qwen3.6-35B-A3B", "serve-cpu", 0.0, 8),
    ],
)
def test_no_more_requests_run_at_once_than_there_are_states_for(
    model: str, build: Build, gib: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """vLLM 0.33 would fail after minutes of loading (vllm#49064)."""
    monkeypatch.setattr(plan, "gpu_gib", lambda: gib)
    monkeypatch.setattr(plan, "kv_cache_gib", lambda copies: 1)
    assert int(flags_of(model, build)["--max-num-seqs"]) == most


def test_a_copy_of_nano_is_nano_under_any_folder_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    (model / "model.safetensors").write_bytes(b"1")
    second = served_name(str(model))
    (tmp_path / "there").mkdir()
    moved = model.rename(tmp_path / "there" / "model")
    (moved / "README.md").write_text("A model card.")
    assert first != second == served_name(str(moved)), "neither the place nor a README changes replies"
    assert first.startswith("model@") and served_name("Qwen/Qwen3-VL-8B") == "Qwen/Qwen3-VL-8B"
    names = {served_name(str(moved), arguments) for arguments in ((), ("--dtype", "float16"), ("--dtype", "float32"))}
    assert len(names) == 3 and second in names


REASONS = {
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
    "  Value error, max_model_len (99999999) is too large. [type=value_error, input_value=1]\n"
    "    For further information visit https://errors.pydantic.dev": "max_model_len (99999999) is too large",
    "(EngineCore pid=3) ERROR 11-21 16:28:02 [core.py:1510] ValueError: the cache is too small.\n"
    "(EngineCore pid=5) ERROR 11-26 19:44:49 [core.py:1512] RuntimeError: Worker failed with error 'the cache is too "
    "small.', please check the stack trace above for the root cause\n"
    "RuntimeError: Engine core initialization failed. See root cause above.": "the cache is too small",
    "INFO: all is well": "",
}


@pytest.mark.parametrize("log", REASONS)
def test_the_reason_of_a_failure_is_the_most_specific_error(log: str) -> None:
    assert failure_reason(log) == REASONS[log]


def test_the_plan_of_a_folder_goes_by_the_size_of_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(tmp_path / "Qwen3-VL-of-mine", dict(published()["Qwen/Qwen3-VL-2B-Instruct"]))
    with pytest.raises(InputError, match="no weights"):
        sizes_of(folder)
    for number in range(2):
        Path(folder, f"model-{number}.safetensors").write_bytes(bytes(2_000_000))
    assert sizes_of(folder).weights == 4_000_000
    assert main(["serve", folder, "--plan", "24"]) == 0
    assert "--max-model-len 74752" in capsys.readouterr().out, "and nothing is started"
    Path(folder, "config.json").write_text("{}")
    assert main(["serve", folder, "--plan", "24"]) == 2
    assert "lacks" in capsys.readouterr().err


@pytest.mark.parametrize("name", published())
def test_a_larger_card_never_does_less(name: str) -> None:
    before = (0, 0)
    for gb in range(8, 160, 4):
        try:
            found = plan.plan(name, gb, sheet_size)
        except InputError as error:
            assert before == (0, 0) and "does not fit" in str(error)
            continue
        assert found.weights + found.conversations * found.per_conversation < gb * 2**30
        assert (found.k * found.cell, found.conversations) >= before or found.k * found.cell > before[0]
        before = (found.k * found.cell, 0)


def test_a_card_that_is_too_small_gets_a_smaller_grid_then_another_model() -> None:
    small = plan.plan("Qwen/Qwen3-VL-4B-Instruct", 12, sheet_size)
    assert small.is_fp8 and small.k * small.cell < 8 * 320 and small.conversations >= 1
    with pytest.raises(InputError, match="Serve Qwen/Qwen3-VL-2B-Instruct"):
        plan.plan("Qwen/Qwen3-VL-30B-A3B-Instruct", 12, sheet_size)
    assert [each.gb for each in best_of_cards(sheet_size)] == [141, 80, 48, 24, 12]
    paper = plan.plan("Qwen/Qwen3.5-35B-A3B", 80, sheet_size)
    assert "atlaskit serve '/my models/a' --vllm=" in str(replace(paper, model="/my models/a"))
    assert paper.is_fp8 and paper.arguments == ("--max-model-len", "74752", "--quantization", "fp8")


def test_a_plan_has_room_for_the_sheets_that_are_sent(world: World, cache: Cache) -> None:
    """16 of the size that the environment draws, with strips and gutters, and the words."""
    found = plan.plan("Qwen/Qwen3-VL-8B-Instruct", 80, sheet_size)
    atlas = Atlas(world.drawn, k=found.k, cell=found.cell, fit="native", ruled=True, cache=cache)
    width, height = atlas.reset().view.size
    assert found.context == 16 * math.ceil(width / 32) * math.ceil(height / 32) + WORDS


def test_the_pages_show_the_plan() -> None:
    command = [sys.executable, "tools/serving_plan.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
