"""The archive of a video's clips: who appears where, and which captions suit a query."""

from __future__ import annotations

from atlaskit.agents.index import Index
from atlaskit.methods.dvd import MOST_LOOKS, MOST_SUBJECTS, best_of, caption_rows, subjects_of
from atlaskit.methods.records import Clip


def clip(index: int, caption: str, *subjects: tuple[str, str]) -> Clip:
    return Clip(index, 10.0 * index, 10.0 * index + 10, caption, subjects, "", ())


def test_subjects_of_one_name_are_merged_with_their_appearances() -> None:
    subjects = subjects_of(
        [
            clip(0, "a", ("The cook", "White apron."), ("dog", "brown")),
            clip(1, "b", ("the  COOK!", "white apron")),
            clip(2, "c", ("the cook", "black coat"), ("the cook", "black coat")),
            clip(5, "d", ("cat", "grey")),
        ]
    )
    assert subjects.split("\n") == [
        "the cook (clips 0–2): white apron 0–1; black coat 2",
        "dog (clips 0): brown 0",
        "cat (clips 5): grey 5",
    ]


def test_the_list_of_subjects_is_bounded() -> None:
    many = [clip(n, "x", (f"thing {n}", ""), ("hero", f"coat {n}")) for n in range(MOST_SUBJECTS + 20)]
    rows = subjects_of(many).split("\n")
    assert len(rows) == MOST_SUBJECTS and rows[0].startswith("hero (clips 0–119)")
    assert rows[0].count("coat") == MOST_LOOKS


def test_a_query_picks_the_best_captions_and_fills_up_evenly() -> None:
    clips = [clip(n, "a red kite flies" if n in (3, 77) else "nothing of note") for n in range(100)]
    archive = Index(clips)
    best = [each.index for each in best_of(archive, "kite", 6)]
    assert best == sorted(best) and len(best) == 6 and {3, 77} <= set(best)
    others = [number for number in best if number not in (3, 77)]
    assert others[0] < 10 and others[-1] > 60, "spread over the video"
    assert [each.index for each in best_of(archive, "no such word", 300)] == list(range(100))
    assert [each.index for each in best_of(archive, "kite", 1)] in ([3], [77])
    assert best_of(Index([]), "kite", 5) == [] and subjects_of([]) == ""


def test_caption_rows_name_clips_by_number() -> None:
    assert caption_rows([clip(7, "A dog barks.")]) == "Clip 7 (1:10.0–1:20.0): A dog barks."
