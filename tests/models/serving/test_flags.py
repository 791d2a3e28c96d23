"""vLLM's command line, and what it takes from the machine's hardware."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atlaskit.errors import InputError
from atlaskit.models.protocol import MOST_IMAGES
from atlaskit.models.serving import hardware
from atlaskit.models.serving.flags import ServerFlags
from atlaskit.models.serving.server import serve


@pytest.mark.parametrize(
    "options", [{"tensor_parallel": 0}, {"data_parallel": -1}, {"port": 70000}, {"arguments": ["--api-key=x"]}]
)
def test_an_invalid_setting_is_an_error(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        serve("some/model", **options)


def flags_of(command: list[str]) -> dict[str, str]:
    return {word: after for word, after in zip(command, [*command[1:], ""], strict=True) if word.startswith("--")}


def test_the_command_line(tmp_path: Path) -> None:
    flags = ServerFlags(tensor_parallel=2, data_parallel=4, arguments=("--max-model-len", "32768"))
    command = flags.command("python", "a/model", "name", 8123, tmp_path, "serve-gpu")
    gpu = flags_of(command)
    assert command[:3] == ["python", "-m", "vllm.entrypoints.openai.api_server"]
    assert (gpu["--model"], gpu["--served-model-name"], gpu["--port"]) == ("a/model", "name", "8123")
    assert (gpu["--host"], gpu["--seed"]) == ("127.0.0.1", "0")
    assert (gpu["--tensor-parallel-size"], gpu["--data-parallel-size"]) == ("2", "4")
    assert json.loads(gpu["--limit-mm-per-prompt"]) == {"image": MOST_IMAGES}
    assert json.loads(gpu["--structured-outputs-config"])["disable_any_whitespace"] is True
    assert gpu["--allowed-local-media-path"] == str(tmp_path)
    assert {"--enable-prefix-caching", "--enable-prompt-tokens-details"} <= gpu.keys()
    # The user's arguments come last: vLLM takes the last of two values.
    assert gpu["--max-model-len"] == "32768" and command[-2:] == ["--max-model-len", "32768"]
    assert not {"--enforce-eager", "--dtype"} & gpu.keys()
    cpu = flags_of(ServerFlags().command("python", "a/model", "name", 8123, tmp_path, "serve-cpu"))
    assert cpu["--dtype"] == hardware.fast_dtype() and "--enforce-eager" in cpu


@pytest.mark.parametrize(
    ("name", "caches"), [("openai/whisper-large-v3", False), ("tiny-whisper@0a", False), ("a", True)]
)
def test_a_model_with_an_encoder_caches_no_prefixes(tmp_path: Path, name: str, caches: bool) -> None:
    flags = flags_of(ServerFlags().command("python", name, name, 8123, tmp_path, "serve-gpu"))
    assert ("--enable-prefix-caching" in flags, "--no-enable-prefix-caching" in flags) == (caches, not caches)


@pytest.mark.parametrize("has_compiler", [True, False])
def test_nano_is_compiled_on_a_cpu_with_a_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_compiler: bool
) -> None:
    monkeypatch.setattr(hardware, "can_compile", lambda: has_compiler)
    flags = [
        flags_of(ServerFlags().command("python", "a/model", name, 8123, tmp_path, "serve-cpu"))
        for name in ("nano@0123456789ab", "other@0123456789ab")
    ]
    assert ["--enforce-eager" in each for each in flags] == [not has_compiler, True]


def test_a_compiler_must_exist_and_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hardware.can_compile.cache_clear()
    try:
        for name, script in (("none", None), ("fails", "#!/bin/sh\nexit 1\n"), ("works", "#!/bin/sh\nexit 0\n")):
            if script is not None:
                (tmp_path / name).write_text(script)
                (tmp_path / name).chmod(0o755)
            monkeypatch.setenv("CXX", str(tmp_path / name))
            assert hardware.can_compile() == (name == "works")
            hardware.can_compile.cache_clear()
    finally:
        hardware.can_compile.cache_clear()


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
    assert hardware.fast_dtype(tmp_path / "cpuinfo") == dtype
