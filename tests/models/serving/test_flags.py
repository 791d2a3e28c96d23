"""vLLM's command line, and what it takes from the machine's plan."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from atlaskit.models.names import preset_named, served_family
from atlaskit.models.protocol import MOST_IMAGES
from atlaskit.models.serving import plan
from atlaskit.models.serving.flags import ServerFlags, environment
from atlaskit.models.serving.install import IMAGES, Build


def flags_of(command: list[str]) -> dict[str, str]:
    return {word: after for word, after in zip(command, [*command[1:], ""], strict=True) if word.startswith("--")}


def test_the_command_line(tmp_path: Path) -> None:
    flags = ServerFlags(tensor_parallel=2, data_parallel=4, arguments=("--max-model-len", "32768"))
    command = flags.command("python", "a/model", "name", 8123, "serve-gpu", preset=preset_named("name"))
    gpu = flags_of(command)
    assert command[:3] == ["python", "-m", "vllm.entrypoints.openai.api_server"]
    assert (gpu["--model"], gpu["--served-model-name"], gpu["--port"]) == ("a/model", "name", "8123")
    assert (gpu["--host"], gpu["--seed"]) == ("127.0.0.1", "0")
    assert (gpu["--tensor-parallel-size"], gpu["--data-parallel-size"]) == ("2", "4")
    assert json.loads(gpu["--limit-mm-per-prompt"]) == {"image": MOST_IMAGES, "video": 0}
    assert (gpu["--max-num-seqs"], gpu["--mm-encoder-tp-mode"]) == ("16", "data")
    assert json.loads(gpu["--structured-outputs-config"])["disable_any_whitespace"] is True
    assert {"--enable-prefix-caching", "--enable-prompt-tokens-details"} <= gpu.keys()
    # The user's arguments come last: vLLM takes the last of two values.
    assert gpu["--max-model-len"] == "32768" and command[-2:] == ["--max-model-len", "32768"]
    assert not {"--enforce-eager", "--dtype"} & gpu.keys()
    cpu = flags_of(ServerFlags().command("python", "a/model", "name", 8123, "serve-cpu", preset=preset_named("name")))
    assert cpu["--dtype"] == plan.fast_dtype() and "--enforce-eager" in cpu


@pytest.mark.parametrize(
    ("name", "caches"), [("openai/whisper-large-v3", False), ("tiny-whisper@0a", False), ("a", True)]
)
def test_a_model_with_an_encoder_caches_no_prefixes(tmp_path: Path, name: str, caches: bool) -> None:
    flags = flags_of(ServerFlags().command("python", name, name, 8123, "serve-gpu", preset=preset_named(name)))
    assert ("--enable-prefix-caching" in flags, "--no-enable-prefix-caching" in flags) == (caches, not caches)


@pytest.mark.parametrize(
    ("name", "kind", "template", "family"),
    [
        ("adapted", "qwen3_5_moe", "", "Qwen3.5 and later"),
        ("adapted", "qwen3_vl", "", "Qwen3-VL"),
        ("adapted", "qwen3_vl", "<think>\n", "Qwen3-VL Thinking"),
        ("adapted", "qwen2_5_vl", "", "Qwen2.5-VL and Qwen2-VL"),
        ("adapted", "glm4v", "<think>", "GLM-4.1V Thinking"),
        ("adapted", "glm4v_moe", "<think>", "GLM-4.5V and 4.6V"),
        ("adapted", "glm46v", "", "GLM-4.5V and 4.6V"),
        ("adapted", "internvl", "", "InternVL and Intern-S1"),
        ("adapted", "gemma3", "", "Gemma 3"),
        ("adapted", "llava_onevision", "", "LLaVA"),
        ("adapted", "minicpmv4_6", "", "MiniCPM-V 4.6 and later"),
        ("adapted", "idefics3", "", "SmolVLM and Idefics3"),
        ("qwen3.5-ours", "qwen3_vl", "", "Qwen3.5 and later"),
        ("adapted", "something_new", "", "other"),
        ("adapted", None, "", "other"),
    ],
)
def test_the_family_of_a_folder_is_that_of_its_weights(
    tmp_path: Path, name: str, kind: str | None, template: str, family: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    if kind is not None:
        (folder / "config.json").write_text(json.dumps({"model_type": kind}))
    (folder / "chat_template.jinja").write_text(template)
    assert served_family(str(folder)).name == family


@pytest.mark.parametrize(
    ("name", "config", "has"),
    [
        ("Qwen/Qwen3.5-35B-A3B", None, True),
        ("openbmb/MiniCPM-V-4.6", None, True),
        ("openbmb/MiniCPM-V-4_5", None, False),
        ("Qwen/Qwen3-VL-8B-Instruct", None, False),
        ("adapted", {"model_type": "qwen3_5_moe"}, True),
        ("adapted", {"model_type": "new", "text_config": {"layer_types": ["linear_attention"]}}, True),
        ("adapted", {"model_type": "new", "text_config": {"layer_types": ["full_attention"]}}, False),
    ],
)
def test_a_processor_computes_linear_attention_in_bfloat16(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, config: dict[str, Any] | None, has: bool
) -> None:
    """vLLM's engine dies at the first request otherwise ("CPU GDN attention requires BF16")."""
    if config is not None:
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(config))
        name = str(tmp_path / name)
    for fast in ("float32", "bfloat16"):
        monkeypatch.setattr(plan, "fast_dtype", lambda fast=fast: fast)
        flags = flags_of(ServerFlags().command("python", name, name, 8123, "serve-cpu", preset=preset_named(name)))
        assert flags["--dtype"] == ("bfloat16" if has else fast)


@pytest.mark.parametrize(("name", "is_used"), [("nano@0123456789ab", False), ("qwen3-vl@0123456789ab", True)])
def test_image_processors_get_torchvision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_used: bool
) -> None:
    """Not those of nano, which was trained on images that Pillow prepared."""
    monkeypatch.setenv("PYTHONPATH", "/mine")
    python, folder = tmp_path / "bin" / "python", tmp_path / IMAGES
    assert environment("serve-cpu", str(python), preset_named(name), ServerFlags())["PYTHONPATH"] == "/mine"
    folder.mkdir()
    path = environment("serve-cpu", str(python), preset_named(name), ServerFlags())["PYTHONPATH"]
    assert path == (os.pathsep.join(["/mine", str(folder)]) if is_used else "/mine")
    monkeypatch.delenv("PYTHONPATH")
    assert environment("serve-cpu", str(python), preset_named(name), ServerFlags()).get("PYTHONPATH") == (
        str(folder) if is_used else None
    )


@pytest.mark.parametrize(
    ("name", "build", "flags", "copies"),
    [
        ("nano@0123456789ab", "serve-cpu", ServerFlags(data_parallel="auto"), 6),
        ("nano@0123456789ab", "serve-cpu", ServerFlags(), 1),
        ("nano@0123456789ab", "serve-cpu", ServerFlags(data_parallel=3), 3),
        ("some/model", "serve-cpu", ServerFlags(data_parallel="auto"), 1),
        ("some/model", "serve-gpu", ServerFlags(data_parallel="auto"), 4),
        ("some/model", "serve-gpu", ServerFlags(2, "auto"), 2),
        ("some/model", "serve-gpu", ServerFlags(8, "auto"), 1),
    ],
)
def test_the_number_of_copies_follows_from_the_model_and_the_machine(
    monkeypatch: pytest.MonkeyPatch, name: str, build: Build, flags: ServerFlags, copies: int
) -> None:
    monkeypatch.setattr(plan, "engines", lambda: 6)
    monkeypatch.setattr(plan, "gpus", lambda: 4)
    assert flags.resolved(preset_named(name), build) == ServerFlags(flags.tensor_parallel, copies)


def test_engines_on_a_cpu_share_cores_and_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No engine binds its threads to the cores of another, and none takes all memory."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    monkeypatch.setattr(plan, "cores", lambda: 8)
    monkeypatch.setattr(plan, "_memory_gib", lambda: 24)
    monkeypatch.setattr(plan, "memory_nodes", lambda: 2)
    four = ServerFlags(data_parallel=4)
    several = flags_of(four.command("python", "m", "m", 8123, "serve-cpu", preset=preset_named("m")))
    assert (several["--data-parallel-size"], several["--distributed-executor-backend"]) == ("4", "uni")
    variables = environment("serve-cpu", "env/bin/python", preset_named("m"), four)
    assert (variables["OMP_NUM_THREADS"], variables["VLLM_ENABLE_V1_MULTIPROCESSING"]) == ("2", "0")
    assert variables["VLLM_CPU_KVCACHE_SPACE"] == "1"
    one = flags_of(ServerFlags().command("python", "m", "m", 8123, "serve-cpu", preset=preset_named("m")))
    assert "--distributed-executor-backend" not in one
    variables = environment("serve-cpu", "env/bin/python", preset_named("m"), ServerFlags())
    assert "OMP_NUM_THREADS" not in variables and variables["VLLM_CPU_KVCACHE_SPACE"] == "4"
    gpus = flags_of(four.command("python", "m", "m", 8123, "serve-gpu", preset=preset_named("m")))
    assert "--distributed-executor-backend" not in gpus
    assert "OMP_NUM_THREADS" not in environment("serve-gpu", "env/bin/python", preset_named("m"), four)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    variables = environment("serve-cpu", "env/bin/python", preset_named("m"), four)
    assert variables["OMP_NUM_THREADS"] == "3", "the user's own"


@pytest.mark.parametrize(
    ("usable", "quota", "cores"),
    [
        ({0, 1, 2, 3}, None, 2),
        ({0, 2}, None, 1),
        ({0, 1}, None, 2),
        ({0, 1, 2, 3}, "max 100000", 2),
        ({0, 1, 2, 3}, "150000 100000", 1),
        ({0, 1, 2, 3}, "50000 100000", 1),
    ],
)
def test_hyper_threads_count_once_and_a_quota_is_obeyed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usable: set[int], quota: str | None, cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: usable, raising=False)
    records = [f"processor\t: {n}\nphysical id\t: 0\ncore id\t\t: {n % 2}\nflags\t\t: sse2" for n in range(4)]
    (tmp_path / "cpuinfo").write_text("\n\n".join(records))
    if quota is not None:
        (tmp_path / "cpu.max").write_text(f"{quota}\n")
    assert plan.cores(tmp_path / "cpuinfo", tmp_path / "cpu.max") == cores
    assert plan.cores(tmp_path / "none", tmp_path / "none") == len(usable), "a system that does not tell"


@pytest.mark.parametrize(
    ("cpuinfo", "dtype"),
    [
        ("flags\t\t: fpu sse2 avx2\n", "float32"),
        ("flags\t\t: fpu sse2 avx2 avx512f avx512bw\n", "bfloat16"),
        ("Features\t: fp asimd bf16\n", "bfloat16"),
        (None, "bfloat16"),
    ],
)
def test_the_dtype_is_the_fastest_of_the_processor(tmp_path: Path, cpuinfo: str | None, dtype: str) -> None:
    if cpuinfo is not None:
        (tmp_path / "cpuinfo").write_text(cpuinfo)
    assert plan.fast_dtype(tmp_path / "cpuinfo") == dtype


@pytest.mark.parametrize(
    ("model", "build", "gib", "most"),
    [
        ("Qwen/Qwen3.6-35B-A3B", "serve-gpu", 80.0, 16),
        ("Qwen/Qwen3.6-35B-A3B", "serve-gpu", 77.0, 7),  # weights of 70 GB leave room for few states
        ("Qwen/Qwen3.6-35B-A3B", "serve-cpu", 0.0, 8),
        ("Qwen/Qwen3.6-27B", "serve-cpu", 0.0, 3),
        ("Qwen/Qwen3-VL-8B-Instruct", "serve-cpu", 0.0, 16),  # keeps no states
        ("somebody/qwen3.5-of-unknown-size", "serve-gpu", 24.0, 16),
    ],
)
def test_no_more_requests_run_at_once_than_there_are_states_for(
    model: str, build: Build, gib: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """vLLM 0.33 would fail after minutes of loading (vllm#49064)."""
    monkeypatch.setattr(plan, "gpu_gib", lambda: gib)
    monkeypatch.setattr(plan, "kv_cache_gib", lambda copies: 1)
    flags = flags_of(ServerFlags().command("python", model, model, 8123, build, preset=preset_named(model)))
    assert int(flags["--max-num-seqs"]) == most
