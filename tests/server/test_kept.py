"""A real vLLM server that `atlaskit ask` keeps for the next question, and that stops by itself."""

import os
from pathlib import Path

import pytest
from support.parallel import wait_until
from support.servers import children, is_alive, members

from atlaskit.__main__ import main
from atlaskit.models.serving import process
from atlaskit.models.serving.supervisor import requests_of
from atlasworld import World

pytestmark = pytest.mark.server


def test_the_next_question_starts_no_server_and_an_idle_one_stops(
    film: World, in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VLLM_CACHE_ROOT", os.environ.get("VLLM_CACHE_ROOT", str(Path.home() / ".cache" / "vllm")))
    monkeypatch.setenv("XDG_CACHE_HOME", str(in_tmp / "home"))
    monkeypatch.setattr(process, "IDLE_S", 15.0)
    video = str(film.video.path)  # type: ignore[attr-defined]
    finished = list[float]()
    for question in film.questions[:2]:
        choices = [word for choice in question.choices for word in ("--choice", choice)]
        assert main(["ask", video, question.text, *choices, "--model", "nano", "--calls", "9", "--cache", "c"]) in (
            0,
            1,
        )
        (server,) = process.all_kept()
        finished.append(requests_of(server.url)[1])
        printed = capsys.readouterr().err
        assert printed.splitlines()[-1].endswith("serve nano --stop") and "minutes after" in printed
        assert ("starting vLLM" in printed) == (len(finished) == 1)
    assert 0 < finished[0] < finished[1] <= 18, "both were answered by the same server, which counted the calls"
    (group,) = children(server.keeper)
    wait_until(lambda: not members(group) and not is_alive(server.keeper), 120)
    assert not Path(server.log).parent.exists()
