"""A tiny untrained Whisper on a real vLLM server: it hears nonsense, over the real protocol."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.paths import SUPPORT
from support.speaking import speaking_video

import atlaskit as ak
from atlaskit.models.serving import install
from atlaskit.models.serving.server import serve

pytestmark = [pytest.mark.server, pytest.mark.filterwarnings("ignore::atlaskit.errors.SpeechWarning")]


@pytest.fixture
def whisper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ak.ASR]:
    """vLLM's CPU build decodes sound only if it finds PyAV, so the server gets that of this environment."""
    spec = find_spec("av")
    assert spec is not None and spec.submodule_search_locations
    packages = Path(spec.submodule_search_locations[0]).parent
    (tmp_path / "extra").mkdir()
    for name in ("av", "av.libs"):
        (tmp_path / "extra" / name).symlink_to(packages / name)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "extra"))
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = tmp_path / "tiny-whisper"
    subprocess.run([install.interpreter(), SUPPORT / "tiny_whisper.py", folder], check=True, capture_output=True)
    with serve(folder) as vlm:
        yield ak.ASR(vlm.base_url, vlm.name, language="en")


def test_a_real_server_transcribes_and_a_second_run_is_free(tmp_path: Path, whisper: ak.ASR) -> None:
    path = speaking_video(tmp_path / "talk.mkv", [(1.0, "one"), (2.0, "five"), (12.0, "three")], 14)
    cache = ak.Cache(tmp_path / "cache")
    track = ak.transcribe(path, whisper, cache=cache, progress=False)
    assert cache.stats()["transcript"]["entries"] >= 1
    assert all(0 <= line.start_s < line.end_s <= 14.1 and line.text for line in track.lines)
    assert ak.transcribe(path, whisper, cache=cache, progress=False, replay=True) == track
