"""The teacher: answers the calls of a search with perfect eyes, and by what is shown alone.

Unlike the oracle, which knows where everything is, it knows no more than the frames of the cells before it, the words
of the prompt, and what kind of films these are. So all that it does can be learnt by looking. It thinks before it acts:
its thought goes over the cells one by one, and the action follows from the thought.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from atlaskit.benchmarks.atlasworld.oracle import estimated_usage
from atlaskit.benchmarks.atlasworld.reel import BANK_CAST
from atlaskit.benchmarks.atlasworld.screenplay import LONGEST_S
from atlaskit.benchmarks.atlasworld.script import Script
from atlaskit.environment import Observation
from atlaskit.memory import Evidence
from atlaskit.model import MAX_ATTEMPTS, NANO, Reply, Request
from atlaskit.nano.quest import Quest, quest_of, sight_told, told
from atlaskit.nano.sights import Sight, sight_at
from atlaskit.prompts import DecisionCall, GlanceCall, ProbeCall, ReviewCall, StepCall, TaskCall
from atlaskit.question import Question, without_article
from atlaskit.schemas import MOST_ITEMS
from atlaskit.wording import said_in

SETTINGS = asdict(NANO)
"""Of `ask`: what the teacher is used to, and with it nano."""
HERE, ON, NEAR, NOTHING = "+", "=", "~", "-"
"""What there is to say of a cell: what is wanted begins here, goes on, may lie within, or does not."""
COARSE_S, FINE_S, SHORT_S = 20.0, 4.0, 1.0
"""Cells longer than the first show too little to pass over a scene that no filler has; in cells shorter than the
second, what does not show is taken not to be there."""
MOST_WEIGHED = 16
"""Items of evidence that a judgement goes over, the earliest."""


class Expert:
    """Answers every call about the worlds of one script."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.name = f"expert:{script.name}"
        self.parameters: Mapping[str, Any] = {"version": 1}

    def complete(self, request: Request, *, max_attempts: int = MAX_ATTEMPTS) -> Reply:
        """Answer a request."""
        valid = request.schema.model_validate(self.answer(request.facts))
        text = valid.model_dump_json()
        return Reply(valid, text, estimated_usage(request, text))

    def answer(self, call: Any) -> dict[str, Any]:
        """Answer a call, as the JSON object that its schema asks for."""
        quest = quest_of(call.question.text)
        assert quest is not None, call.question.text
        match call:
            case TaskCall():
                return {"search_task": quest.task, **({"traversal": "dfs"} if call.chooses else {})}
            case ProbeCall():
                return self._probe(call, quest)
            case StepCall():
                return self._step(call, quest)
            case ReviewCall():
                return _review(call, quest)
            case DecisionCall():
                return _decide(call.question, quest, list(call.sheet.scratchpad), labelled=True)
            case GlanceCall():
                return self._glance(call, quest)
        raise AssertionError(call)

    def sights(self, seen: Observation) -> list[Sight | None]:
        """Return what each cell of a view shows; None for a black one."""
        view = seen.view
        return [
            None if index in view.dead else sight_at(self.script, moment) for index, moment in enumerate(view.moments)
        ]

    def verdicts(self, quest: Quest, seen: Observation, opened: Sequence[int] = ()) -> str:
        """Return what there is to say of each cell, a sign a cell."""
        sights, cell_s = self.sights(seen), seen.view.grid.resolution_s
        said = {index: [line.text for line in lines] for index, lines in said_in(seen).items()}
        is_long = self.script.duration_s > LONGEST_S
        spoken = [index for index, lines in said.items() if quest.line and quest.line in lines]
        signs = [NOTHING] * len(sights)
        before, heard_from = "", min(spoken, default=None)
        for index, sight in enumerate(sights):
            if sight is None:
                before = ""
                continue
            now = sight.object if quest.wants(sight) and not opened else ""
            if quest.line:
                since = -1 if heard_from is None or cell_s > FINE_S else index - heard_from
                now = now if 0 <= since <= max(1, 3 / cell_s) else ""
            if now:
                signs[index] = ON if now == before else HERE
            elif index not in opened:
                named = any(name in line for name in quest.objects for line in said.get(index, ()))
                scene = quest.scene is not None and (sight.place, sight.light) == quest.scene
                beside = [other for other in sights[max(0, index - 1) : index + 2] if other is not None]
                strange = cell_s > COARSE_S and not quest.line and is_long and any(map(_is_strange, beside))
                line = index in spoken or (index - 1 in spoken and cell_s < COARSE_S)
                if cell_s > SHORT_S and (scene or strange or named or line):
                    signs[index] = NEAR
            before = now
        if cell_s < FINE_S and {HERE, ON} & set(signs):  # fine enough: what is looked for is here
            signs = [NOTHING if sign == NEAR else sign for sign in signs]
        if quest.line and HERE in signs:  # the first after the words begin is what they are about
            first = signs.index(HERE)
            signs = [sign if index == first else NOTHING for index, sign in enumerate(signs)]
        if quest.asks == "neighbour":
            self._mark_neighbour(quest, sights, signs)
        if quest.objects and is_long and FINE_S < cell_s < COARSE_S and not {HERE, ON} & set(signs):
            for index, sight in enumerate(sights):
                if sight is not None and index not in opened and _is_strange(sight):
                    signs[index] = NEAR
        return "".join(signs)

    def _mark_neighbour(self, quest: Quest, sights: list[Sight | None], signs: list[str]) -> None:
        anchors = [index for index, sign in enumerate(signs) if sign in (HERE, ON)]
        if not anchors:
            return
        beyond = range(anchors[-1] + 1, len(sights)) if quest.side == "after" else range(anchors[0] - 1, -1, -1)
        for index in beyond:
            sight = sights[index]
            if sight is None:
                return
            if sight.object:
                signs[index] = HERE
                return

    def _probe(self, call: ProbeCall, quest: Quest) -> dict[str, Any]:
        signs = self.verdicts(quest, call.observation)
        worth = {HERE: 0.9, ON: 0.9, NEAR: 0.6, NOTHING: 0.1}
        best = sorted(call.open_cells, key=lambda index: (-worth[signs[index]], index))[: call.top]
        ranked = [{"cell": index, "score": worth[signs[index]]} for index in best]
        promising = [each for each in ranked if each["score"] > 0.1]
        return {"reasoning": self._thought(quest, call.observation, signs), "top": promising or ranked}

    def _step(self, call: StepCall, quest: Quest) -> dict[str, Any]:
        seen, legal = call.observation, call.observation.legal
        first = len(call.earlier) <= 2  # the view is new; otherwise it was gone over already
        signs = self.verdicts(quest, seen, call.opened)
        thought = self._thought(quest, seen, signs) if first else "Go on."
        if first and (picked := [index for index in _picked(quest, signs) if index in legal.add]):
            sights = self.sights(seen)
            items = [
                {"cell": index, "description": told(sight), "confidence": 0.9}
                for index in picked[:MOST_ITEMS]
                if (sight := sights[index]) is not None
            ]
            return {"thought": thought, "action": {"action": "add_to_scratchpad", "items": items}}
        near = [index for index, sign in enumerate(signs) if sign == NEAR and index in legal.expand]
        if near:
            return {"thought": thought, "action": {"action": "expand", "cell": near[0]}}
        return {"thought": thought, "action": {"action": "backtrack" if legal.backtrack else "finished"}}

    def _thought(self, quest: Quest, seen: Observation, signs: str) -> str:
        with_scenes = quest.scene is not None or seen.view.grid.resolution_s > COARSE_S
        return gone_over(signs, self.sights(seen), quest, with_scenes=with_scenes)

    def _glance(self, call: GlanceCall, quest: Quest) -> dict[str, Any]:
        sights, cells = self.sights(call.observation), call.observation.view.cells
        found = [
            Evidence(cell.midpoint_s, cell.start_s, cell.end_s, told(sight), 0.5, label=str(cell.index))
            for cell, sight in zip(cells, sights, strict=True)
            if sight is not None and quest.wants(sight) and cell.index in call.observation.legal.add
        ]
        return _decide(call.question, quest, found, labelled=bool(call.observation.legal.add), by_cell=True)


def gone_over(signs: str, sights: Sequence[Sight | None], quest: Quest, *, with_scenes: bool) -> str:
    """Write down what each cell shows, as far as it matters, and what follows: "0-1-2red~circle~=2+3blue,circle~-…";
    with scenes, "0snow,dawn~-1sea~dawn~red,circle~=1+…". Each word is followed by whether it is one that is wanted
    ("~") or not (","), so that every sign follows from what stands right before it.

    To read first makes finding easy to learn: what is to be compared stands there in words, one thing at a time.
    """
    wanted = {word for name in quest.objects for word in name.split(" ")} | {quest.shape} | set(quest.scene or ())
    words = []
    for index, (sign, sight) in enumerate(zip(signs, sights, strict=True)):
        parts = ([sight.place, sight.light] if with_scenes else []) + [sight.colour, sight.shape] if sight else []
        marked = "".join(f"{part}{NEAR if part in wanted else ','}" for part in parts if part)
        # That it goes on is not said: "=" where "+" was said of the same just before is learned late, and whoever
        # says it too early keeps nothing, while one cell more that is kept does no harm.
        # What is to be kept or opened is named again: at the end, the number is found right before the sign.
        named = NOTHING if sign == NOTHING else f"={index}{HERE if sign == ON else sign}"
        words.append(f"{index}{marked}{named}")
    return "".join(words)


def _is_strange(sight: Sight) -> bool:
    """Tell whether a scene is of another cast than the filler between the clips of a long world."""
    return (sight.place, sight.light) not in BANK_CAST.settings


def _picked(quest: Quest, signs: str) -> list[int]:
    """Return the cells to keep: where something wanted begins; and where it ends, if that is asked."""
    picked = [index for index, sign in enumerate(signs) if sign == HERE]
    if quest.asks == "when":
        picked += [i for i, sign in enumerate(signs) if sign == ON and signs[i + 1 : i + 2] != ON]
    return sorted(picked)


def in_order(found: Sequence[Evidence]) -> list[Evidence]:
    """Return evidence in order of time."""
    return sorted(found, key=lambda item: item.timestamp_s)


@dataclass(frozen=True)
class Weighed:
    """What some evidence says in answer to a question."""

    told: str
    """The choices, then item by item which of them each speaks for, then the answer: "Of blue star0, red circle1: [A]
    red circle1+[B] white star-. red circle1". The number stands right behind the words, so that it is found where the
    same words stood before."""
    words: str
    choice: int | None
    proof: tuple[str, ...]
    """Labels of what supports that."""
    suffices: bool


def weigh(quest: Quest, question: Question, found: Sequence[Evidence]) -> Weighed:
    """Go over evidence in order of time: of each item say what it shows, and which choice that is, so that the answer
    can be read off what was said."""
    among = [without_article(choice) for choice in question.choices]
    steps, counted, said = [], list[Evidence](), list[str]()
    for item in in_order(found)[:MOST_WEIGHED]:
        sight = sight_told(item.description)
        says = _says(quest, sight, counted)
        choice = among.index(says) if says in among else None
        counts = bool(says) and (choice is not None or not among or quest.asks in ("count", "course"))
        number = len(counted) + 1 if quest.asks == "count" else choice
        sign = NOTHING if not counts else f"{'' if number is None else number}{HERE}"
        steps.append(f"[{item.label}] {_shown(quest, sight)}{sign}")
        if counts:
            counted.append(item)
            said.append(says)
    match quest.asks:
        case _ if not counted:
            words = ""
        case "count":
            words = str(len(counted))
        case "course":
            words = ", then ".join(name for name, _ in groupby(said))
        case "when":
            words = f"{counted[0].start_s:.2f} to {counted[-1].end_s:.2f}"
        case _:
            words = said[0]
    choice = among.index(words) if words in among else None
    many = quest.asks in ("count", "when", "course", "first")
    proof = [i.label for i, says in zip(counted, said, strict=True) if many or says == words][: 4 if many else 2]
    suffices = bool(proof) and (choice is not None or not among) and quest.asks not in ("count", "course")
    if quest.asks == "first":
        suffices = suffices and set(quest.objects) <= set(said)
    between = "=" if quest.asks == "count" else ""
    listed = f"Of {', '.join(f'{each}{between}{number}' for number, each in enumerate(among))}: " if among else ""
    answer = f"{words or 'nothing'}{'' if choice is None else f'{between}{choice}'}"
    return Weighed(f"{listed}{''.join(steps)}. {answer}", words, choice, tuple(proof), suffices)


def _shown(quest: Quest, sight: Sight) -> str:
    """Say what a frame shows, last what a choice may name."""
    match quest.asks:
        case _ if not sight.object:
            return "nothing"
        case "text" if sight.word:
            return f"{sight.object} {sight.word}"
        case "colour":
            return f"{sight.shape} {sight.colour}"
        case _:
            return sight.object


def _says(quest: Quest, sight: Sight, before: Sequence[Evidence]) -> str:
    """Return what one frame says in answer to a question; empty if nothing."""
    is_it = sight.object in quest.objects
    match quest.asks:
        case "object" | "line" | "course":
            return sight.object
        case "colour":
            return sight.colour if sight.shape == quest.shape else ""
        case "text":
            return sight.word if is_it else ""
        case "neighbour":
            return "" if is_it else sight.object
        case "count":
            return str(len(before) + 1) if is_it else ""
        case "first" | "when":
            return sight.object if is_it else ""


def _review(call: ReviewCall, quest: Quest) -> dict[str, Any]:
    question = call.question
    weighed = weigh(quest, question, list(call.sheet.scratchpad))
    answer: dict[str, Any] = {"reasoning": weighed.told, "erase": []}
    if question.choices:
        answer["choices"] = [
            {
                "choice": other,
                "supporting": weighed.proof if other == weighed.choice else [],
                "contradicting": [],
                "sufficient": weighed.suffices and other == weighed.choice,
            }
            for other in range(len(question.choices))
        ]
    if weighed.suffices:
        conclusion: dict[str, Any] = {
            "action": "final_decision",
            "looked_for_to_contradict": "Another.",
            "supporting": weighed.proof,
        }
    else:
        conclusion = {"action": "continue", **({"explore": []} if call.open_cells else {}), "intervals": []}
    return {**answer, "conclusion": conclusion}


def _decide(
    question: Question, quest: Quest, found: Sequence[Evidence], *, labelled: bool, by_cell: bool = False
) -> dict[str, Any]:
    weighed = weigh(quest, question, found)
    told, words = weighed.told, weighed.words
    proof: list[Any] = [int(label) for label in weighed.proof] if by_cell else list(weighed.proof)
    cited = {"supporting": proof} if labelled else {}
    if question.kind == "choice":
        choice = weighed.choice or 0
        judged = [{"choice": choice, **({"supporting": proof, "contradicting": []} if labelled else {})}]
        return {"reasoning": told, "weighed": judged, "answer": choice}
    if question.kind == "when":
        start_s, _, end_s = words.partition(" to ")
        span = (float(start_s), float(end_s)) if words else (0.0, 1.0)
        return {"reasoning": told, **cited, "start_s": span[0], "end_s": span[1]}
    answer: Any = int(words or "0") if question.kind == "count" else (words or "Nothing.")
    return {"reasoning": told, **cited, "answer": answer}
