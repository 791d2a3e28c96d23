"""Results, rows and notes leave the kit in one file, with clips, from Python and from the shell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import pandas as pd
import pytest
from runs.made_passages import of_rate
from support.media import make_video

import atlaskit as ak
from atlaskit.__main__ import main
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.evaluation import tables
from atlaskit.runs.exporting.passages import Passage
from atlaskit.runs.exports import passages_of_rows
from atlaskit.runs.result import Result
from atlaskit.video.opening import open_video
from atlaskit.viz.widgets import GridExplorer
from atlasworld import Oracle, World


def test_a_result_is_answer_evidence_and_truth(answered: Result) -> None:
    found = answered.passages
    kinds = [each.kind for each in found]
    assert kinds.count("answer") == 1 and kinds.count("evidence") == len(answered.evidence) > 0 and "truth" in kinds
    first = found[0]
    assert (first.is_whole, first.text, first.question) == (True, answered.answer_in_words, answered.question.text)
    evidence = [each for each in found if each.kind == "evidence"]
    for passage, item in zip(evidence, answered.evidence, strict=True):
        assert (passage.start_s, passage.end_s, passage.at_s) == (item.start_s, item.end_s, item.timestamp_s)
        assert (passage.label, passage.text, passage.confidence) == (item.label, item.description, item.confidence)
    when = Question("When is it there?", kind="when", several=True, answer=((1.0, 3.0),))
    two = replace(answered, question=when, prediction=((1.0, 2.0), (5.0, 6.5)))
    spans = [(each.kind, each.start_s, each.end_s) for each in two.passages if each.kind != "evidence"]
    assert spans == [("answer", 1.0, 2.0), ("answer", 5.0, 6.5), ("truth", 1.0, 3.0)]
    absent = replace(two, question=replace(when, answer=None), prediction=())
    (told,) = [each for each in absent.passages if each.kind == "answer"]
    assert told.is_whole and (told.start_s, told.end_s) == absent.within
    assert told.text.startswith(absent.answer_in_words) and str(absent.coverage) in told.text
    assert not [each for each in replace(absent, prediction=None).passages if each.kind == "answer"]


def test_rows_and_results_of_many_videos_are_one_file(world: World, answered: Result, tmp_path: Path) -> None:
    small: dict[str, Any] = {"search": ak.Search(cell=32), "cache": Cache(None), "progress": False}
    rows = ak.evaluate(world.cases(drawn=True)[:2], vlm=Oracle, traces=tmp_path, **small)
    other = of_rate("25")
    noted = Passage(1, 2, "seen", video=other.name, fps=25.0)
    ak.export([rows, answered, [noted]], tmp_path / "all.csv")
    found = ak.read_passages(tmp_path / "all.csv")
    assert {each.video for each in found} == {world.cases(drawn=True)[0].video, answered.sheet.video.name, other.name}
    answers = [each for each in found if each.kind == "answer" and each.label == "video-rlm"]
    assert [each.text for each in answers] == [*rows["answer"]] and all(each.is_whole for each in answers)
    assert sum(each.kind == "evidence" for each in found) == rows["evidence"].sum() + len(answered.evidence)
    when = {"video": "film.mp4", "question": "When?", "kind": "when", "prediction": ((1.0, 2.0),), "method": "uniform"}
    truth = Question("When?", kind="when", several=True, answer=((1.5, 3.0), (70.0, 71.25)))
    for given, spans in ((truth, truth.answer), (replace(truth, answer=()), [(0.0, 0.0)])):
        found = passages_of_rows(pd.DataFrame([{**when, "truth": given.in_words(given.answer)}]))
        assert [(each.start_s, each.end_s) for each in found if each.kind == "truth"] == [*spans]
    with pytest.raises(InputError, match="they have the columns video, question and prediction"):
        ak.export(pd.DataFrame({"a": [1]}), tmp_path / "x.csv")
    tables.save(rows, tmp_path / "rows.csv")
    words = ["export", str(tmp_path / "rows.csv"), "--out", str(tmp_path / "cli.csv"), "--cache", str(tmp_path)]
    assert main(words) == 0
    assert [each.text for each in ak.read_passages(tmp_path / "cli.csv") if each.kind == "answer"] == [*rows["answer"]]


def test_clips_are_cut_right_to_a_frame(tmp_path: Path) -> None:
    video = open_video(make_video(tmp_path / "film.mp4", frames=150, sound_s=6.0))
    fox = Passage(1.0, 3.5, 'a fox / "it"', "evidence", label="A", video=video.name)
    stretches = [fox, Passage(5.5, 5.5, video=video.name)]
    whole = Passage(0, 6, "no", "answer", is_whole=True, video=video.name)
    ak.export([*stretches, whole], tmp_path / "cut.edl", videos=video, clips=tmp_path / "clips", cache=Cache(None))
    first, second = sorted((tmp_path / "clips").iterdir())
    assert first.name == "001 evidence A a fox it 1.000.mp4" and second.name.startswith("002 note")
    with av.open(str(first)) as film:
        assert film.streams.video[0].frames == pytest.approx(2.5 * 25, abs=1) and film.streams.audio
    with pytest.raises(InputError, match="Clips are cut from the video"):
        ak.export(stretches, tmp_path / "cut.csv", clips=tmp_path / "none")


def test_the_shell_exports_all_of_it(answered: Result, in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answered.save("result.json")
    film = make_video(in_tmp / "film.mp4", frames=50)
    (in_tmp / "coded.csv").write_text("start,end,label\n0.2,1.2,fox\n")
    place = ["--cache", "kept"]
    GridExplorer(open_video(film), cache=Cache("kept")).open_notes("coded.csv")
    assert main(["export", "result.json", "--out", "answer.csv", *place]) == 0
    told = ak.read_passages("answer.csv")
    assert told[0].text == answered.answer and told[0].is_whole
    assert main(["export", "--notes", "film.mp4", "--out", "notes.eaf", *place]) == 0
    assert [(each.label, each.start_s) for each in ak.read_passages("notes.eaf")] == [("fox", 0.2)]
    assert main(["export", "coded.csv", "--out", "coded.edl", *place]) == 2
    assert "pass fps=, or the video" in capsys.readouterr().err, "the file names no video"
    assert main(["export", "coded.csv", "--video", "film.mp4", "--out", "coded.edl", "--clips", "cut", *place]) == 0
    assert "00:00:00:05 00:00:01:05" in Path("coded.edl").read_text() and len([*Path("cut").iterdir()]) == 1
    assert main(["export", "--out", "x.csv", *place]) == 2 and "Name what to export" in capsys.readouterr().err
    ask = ["ask", "film.mp4", "What?", *place]
    assert main([*ask, "--clips", "cut"]) == 2 and "name its file too" in capsys.readouterr().err
    assert main([*ask, "--export", "observations.csv"]) == 2 and "pass recorded_at" in capsys.readouterr().err
