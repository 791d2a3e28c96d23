"""Tiny folders of published datasets, in their exact layouts, and a model that answers them."""

import contextlib
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Unpack

from atlaskit.models.protocol import CallControl, Reply, Request, Usage

INTERVAL = (2.0, 4.0)
"""What `ConstantModel` answers to when-questions, in seconds."""


class ConstantModel:
    """A model that always makes the same choice, names INTERVAL, and says the same words."""

    def __init__(self, choice: int) -> None:
        self.choice, self.name, self.parameters = choice, "always the same", dict[str, Any]()

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        span = {"start_s": INTERVAL[0], "end_s": INTERVAL[1]}
        n_choices = len(request.facts.question.choices)  # type: ignore[attr-defined]
        forms: list[dict[str, Any]] = [
            {"weighed": [{"choice": n} for n in range(n_choices)], "answer": self.choice},
            {"answer": "A dog runs past a cat."},
            span,
            {"intervals": [span]},
            {"answer": self.choice},  # a count
        ]
        for form in forms:
            with contextlib.suppress(ValueError):
                valid = request.schema.model_validate({"reasoning": "", **form})
                return Reply(valid, valid.model_dump_json(), Usage(calls=1))
        raise AssertionError("the request asks for another form")


def put(clip: Path, *targets: Path) -> None:
    """Copy a video to each of some places."""
    for target in targets:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(clip, target)


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_json(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, ensure_ascii=False))


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    write_text(path, "".join(json.dumps(row) + "\n" for row in rows))


def lvbench_question(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "uid": str(number),
        "question": f"What happens at {number}?\n(A) A dog barks\n(B) It rains\n(C) Nobody speaks\n(D) All of it",
        "answer": "ABCD"[number % 4],
        "question_type": [["entity recognition"], ["reasoning", "event understanding"]][number % 2],
        "time_reference": f"00:0{number % 10}-00:1{number % 10}",
        **changes,
    }


def lvbench_row(number: int, **changes: Any) -> dict[str, Any]:
    """Return a video with two questions."""
    return {
        "key": f"Cm73ma6Ib{number}",
        "type": ("cartoon", "sport")[number % 2],
        "video_info": {"resolution": {"width": 640}, "fps": 25.0, "duration_minutes": 61.5},
        "qa": [lvbench_question(2 * number), lvbench_question(2 * number + 1)],
        **changes,
    }


def make_lvbench(home: Path, clip: Path) -> None:
    write_lines(home / "video_info.meta.jsonl", map(lvbench_row, range(3)))
    put(clip, *(home / "all_videos" / f"Cm73ma6Ib{number}.mp4" for number in range(3)))


def mlvu_row(number: int, kind: str = "plotQA", **changes: Any) -> dict[str, Any]:
    return {
        "video": f"{kind}_{number}.mp4",
        "duration": 480.25,
        "question": f"What does the man do, {number}?",
        "candidates": ["Run", "Sleep", "Eat", "Sing"],
        "answer": ["Run", "Sleep", "Eat", "Sing"][number % 4],
        "question_type": kind,
        **changes,
    }


def make_mlvu(home: Path, clip: Path) -> None:
    files = {
        file: [mlvu_row(number, kind) for number in range(3)]
        for file, kind in {"1_plotQA": "plotQA", "2_needle": "findNeedle", "4_count": "count"}.items()
    }
    for file, kind in {"8_sub_scene": "subPlot", "9_summary": "summary"}.items():
        row = mlvu_row(0, kind, answer="A dog runs. Then a cat sleeps.", scoring_points=["a dog"])
        del row["candidates"]
        files[file] = [row]
    for file, rows in files.items():
        write_json(home / "MLVU" / "json" / f"{file}.json", rows)
        put(clip, *(home / "MLVU" / "video" / file / row["video"] for row in rows))


def egoschema_row(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "question_idx": str(number),
        "question": f"What is C doing overall, {number}?",
        "video_idx": f"0074f737-11cb-497d-8d07-77c3a812739{number}",
        "option": [f"{letter}. C does {thing}." for letter, thing in zip("ABCDE", "uvwxy", strict=True)],
        "answer": str(number % 5),
        **changes,
    }


def make_egoschema(home: Path, clip: Path) -> None:
    """The rows are JSON here, so that no test needs pyarrow; one test writes Parquet."""
    rows = [egoschema_row(number) for number in range(4)]
    write_json(home / "subset.json", rows[:3])
    write_json(home / "mc.json", [{**row, "answer": None} for row in rows])
    put(clip, *(home / "videos" / f"{row['video_idx']}.mp4" for row in rows))


def longtimescope_row(number: int, **changes: Any) -> dict[str, Any]:
    options = "\n".join(f"{letter}: thing {letter.lower()}" for letter in "ABCDEF")
    return {
        "id": number,
        "video": f"videos/needle_{number}.mp4",
        "length": (600, 36000)[number % 2],
        "type": ("QA", "OCR", "temporal")[number % 3],
        "input": f"Answer the question based on the given video. Only give me the answer.\n"
        f"Question: What does the golden retriever do, {number}?\n{options}",
        "answer": "ABCDEF"[number % 6],
        **changes,
    }


def make_longtimescope(home: Path, clip: Path) -> None:
    rows = [longtimescope_row(number) for number in range(4)]
    write_lines(home / "test.jsonl", rows)
    put(clip, *(home / row["video"] for row in rows))


STRUCTURES = ("[1,2,3,4]", "[1,[2,3],4]", "[[1,2],3,4]")


def videomme_v2_row(group: int, place: int, **changes: Any) -> dict[str, Any]:
    """Return one question of a group; only the last one of a group tells what it is."""
    is_last = place == 4
    return {
        "video_id": f"{group:03d}",
        "question_id": f"{group:03d}-{place}",
        "question": f"Which of these, {group} and {place}?",
        "options": "\n".join(f"{letter}. thing {letter.lower()}" for letter in "ABCDEFGH"),
        "answer": "ABCDEFGH"[place],
        "group_type": "relevance" if group % 2 else "logic",
        "group_structure": STRUCTURES[group % 3],
        "level": group % 3 + 1 if is_last else None,
        "second_head": "Action & Motion" if is_last else None,
        "third_head": "Counting" if is_last else None,
        **changes,
    }


def make_videomme_v2(home: Path, clip: Path) -> None:
    rows = [videomme_v2_row(group, place) for group in range(1, 4) for place in range(1, 5)]
    write_json(home / "test.json", rows)
    put(clip, *(home / "data" / f"{group:03d}.mp4" for group in range(1, 4)))
    words = [{"text": word, "start_time": n / 2, "end_time": n / 2 + 0.4} for n, word in enumerate("abc")]
    write_lines(home / "subtitle" / "001.jsonl", words)


def make_longvideobench(home: Path, clip: Path) -> None:
    row = {
        "video_id": "v0",
        "id": "v0_0",
        "question": "What is shown?",
        "candidates": ["A star", "A heart"],
        "correct_choice": 1,
        "video_path": "v0.mp4",
        "question_category": "S2O",
        "duration_group": 15,
    }
    write_json(home / "lvb_val.json", [row, {**row, "id": "v1_0", "video_path": "v1.mp4", "video_id": "v1"}])
    put(clip, home / "videos" / "v0.mp4", home / "videos" / "v1.mp4")


def make_videomme(home: Path, clip: Path) -> None:
    row = {
        "videoID": "fFjv93ACGo0",
        "duration": "short",
        "question_id": "001-1",
        "question": "Which is it?",
        "options": ["A. Apples.", "B. Candles."],
        "answer": "B",
    }
    write_json(home / "test.json", [row, {**row, "question_id": "002-1", "videoID": "fFjv93ACGo1"}])
    put(clip, home / "data" / "fFjv93ACGo0.mp4", home / "data" / "fFjv93ACGo1.mp4")


def extremewhen_row(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "qid": f"q{number}",
        "video_id": f"v{number % 3}",
        "source_corpus": ("LVBench", "MLVU", "VideoMME")[number % 3],
        "question": f"When does it happen for the time {number}?",
        "correct_interval": [10.0 * number, 10.0 * number + 5.5],
        "video_duration_s": 119.9,
        "event_summary": "It happens.",
        "category": ("action", "speech")[number % 2],
        **changes,
    }


def make_extremewhen(home: Path, clip: Path) -> None:
    """The rows are JSON here, so that no test needs pyarrow; its own tests write Parquet."""
    write_json(home / "test.json", [extremewhen_row(n, correct_interval=[n, n + 2.5]) for n in range(4)])
    put(clip, *(home / place for place in ("lvbench/all_videos/v0.mp4", "mlvu/v1.mp4", "videomme/data/v2.mp4")))


def comet_row(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "video_id": f"v{number % 2}",
        "query": f"Every time that a red star comes after a heart, {number}",
        "intervals": [[1.0, 4.0], [10.0, 12.5]] if number % 2 == 0 else [],
        "domain": "sports",
        "temporal_condition": "sequential",
        "spatial_condition": "static",
        "duration": 119.9,
        **changes,
    }


def make_comet(home: Path, clip: Path) -> None:
    write_json(home / "queries.json", [comet_row(number) for number in range(4)])
    put(clip, *(home / "videos" / f"v{number}.mp4" for number in range(2)))


CLUE_CHOICES = ["A star", "A heart", "A circle", "A heart", "Nothing"]


def cgbench_row(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "qid": 100 + number,
        "video_uid": f"v{number % 2}",
        "question": f"Which is it, {number}?",
        "choices": CLUE_CHOICES,
        "answer": CLUE_CHOICES[number % 5],
        "right_answer": "ABCDE"[number % 5],
        "clue_intervals": [[1.0, 4.0], [10.0 + number, 12.5 + number]][: 1 + number % 2],
        "domain": "Life Record",
        "sub_category": ("Entity Cognition", "Hallucination")[number % 2],
        "duration": 119.9,
        **changes,
    }


def make_cgbench(home: Path, clip: Path) -> None:
    write_json(home / "cgbench_mini.json", [cgbench_row(number) for number in range(3)])
    put(clip, *(home / "cg_videos_720p" / f"v{number}.mp4" for number in range(2)))


def qvhighlights_row(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "qid": 9000 + number,
        "query": f"A chef bakes bread {number}.",
        "duration": 119.9,
        "vid": f"NUsG9BgSes0_{number % 2}10.0_360.0",
        "relevant_windows": [[10, 16], [2, 4]][: 1 + number % 2],
        **changes,
    }


def make_qvhighlights(home: Path, clip: Path) -> None:
    rows = [qvhighlights_row(number) for number in range(3)]
    write_lines(home / "highlight_val_release.jsonl", rows)
    put(clip, *(home / "videos" / f"{row['vid']}.mp4" for row in rows))


CHARADES_LINES = (
    "3MSZA 24.3 30.4##person turn a light on.",
    "3MSZA 24.3 30.4##person flipped the light switch near the door.",
    "IFO8C 0.0 12##a person runs ## fast.",
)


def charades_row(number: int, **changes: Any) -> dict[str, Any]:
    """Return what a line says; tests find the row of each dataset by its name."""
    return {"vid": ("3MSZA", "IFO8C")[number % 2], "start": 24.3, "end": 30.4, "sentence": "runs.", **changes}


def make_charades(home: Path, clip: Path) -> None:
    write_text(home / "charades_sta_test.txt", "\n".join([*CHARADES_LINES, "IFO8C 1 3##a person eats."]) + "\n")
    put(clip, *(home / "Charades_v1_480" / f"{name}.mp4" for name in ("3MSZA", "IFO8C")))


LAYOUTS: dict[str, Callable[[Path, Path], None]] = {
    name.removeprefix("make_"): make for name, make in dict(globals()).items() if name.startswith("make_")
}
"""What writes the folder of each dataset of the registry, with all its videos."""
