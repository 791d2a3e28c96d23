"""The display of a result: answer, choices, evidence, path of the run, cost."""

from __future__ import annotations

from atlaskit.environment.memory import label_of
from atlaskit.runs.events import Decision, Report, Review
from atlaskit.runs.narrate import cited_frames, counted, percent, span_text
from atlaskit.runs.result import WITHOUT_EVIDENCE, Result
from atlaskit.runs.trace import Trace
from atlaskit.viz.html.markup import Html, card, fact_table, guarded, paragraph, table, untrusted
from atlaskit.viz.html.phrases import omitted, title
from atlaskit.viz.html.reprs.memory import evidence_image, evidence_table, no_evidence

MAX_CHOICES = 40
"""Most choices in the table, and most frames cited for one."""


def result(result: Result) -> Html:
    """Show the answer, the choices with the frames cited for each, evidence, path and cost."""
    evidence = [evidence_image(result.sheet), guarded("The evidence", lambda: evidence_table(result.evidence))]
    return card(
        title("", result.question.text),
        guarded("The answer", lambda: fact_table(_answer_rows(result))),
        guarded("The choices", lambda: _choice_table(result)) if result.question.choices else "",
        *(evidence if len(result.evidence) else [no_evidence(result.without_evidence)]),
        guarded("The path", lambda: _path(result)),
        guarded("The cost", lambda: _cost_table(result)),
    )


def _answer_rows(result: Result) -> list[tuple[str, object]]:
    words, truth = result.answer_in_words, result.truth_in_words
    mark = f" {WITHOUT_EVIDENCE}" if result.without_evidence else ""
    answer = Html(f"{untrusted(words, 2_000)}{mark}") if words else "no answer"
    correct = {True: "yes", False: "no", None: "unknown"}[result.is_right]
    rows: list[tuple[str, object]] = [("answer", answer), ("correct", correct)]
    if truth:
        rows.append(("truth", untrusted(truth, 2_000)))
    if result.reasoning:
        rows.append(("reasoning", untrusted(result.reasoning, 2_000)))
    cited = _cited_by_decision(result.trace)
    if cited and not result.question.choices:
        rows.append(("cited evidence", untrusted(cited)))
    if "caution" in result.settings:
        rows.insert(1, ("caution", untrusted(str(result.settings["caution"]), 2_000)))
    stop = f"{result.stop}: {result.failure}" if result.failure else result.stop
    rows.append(("stopped by", untrusted(f"{stop}, after {counted(result.rounds, 'round')}")))
    return rows


def _cited_by_decision(trace: Trace) -> str:
    """Return the frames that the last decision cites; empty if it cites none."""
    decisions = trace.of(Decision)
    return cited_frames(decisions[-1].answer.get("supporting")) if decisions else ""


def _judgements(trace: Trace) -> dict[int, tuple[str, str, str]]:
    """Return for each choice the frames last cited for it and against it, and by which event.

    A decision need not judge every choice, so an earlier review can be the last to do so.
    """
    judgements: dict[int, tuple[str, str, str]] = {}
    for event in trace:
        if isinstance(event, Review | Decision):
            judged = event.choices if isinstance(event, Review) else event.answer.get("weighed")
            source = "decision" if isinstance(event, Decision) else f"review of round {event.round}"
            for each in judged if isinstance(judged, list) else ():
                if isinstance(each, dict) and isinstance(each.get("choice"), int):
                    cited = (cited_frames(each.get(side)) or "none" for side in ("supporting", "contradicting"))
                    judgements[each["choice"]] = (*cited, source)  # type: ignore[assignment]
    return judgements


def _choice_table(result: Result) -> Html:
    judgements, rows = _judgements(result.trace), []
    for index, choice in enumerate(result.question.choices[:MAX_CHOICES]):
        marks = {"answer": index == result.choice, "correct": index == result.question.answer}
        marked_as = ", ".join(mark for mark, applies in marks.items() if applies)
        judgement = judgements.get(index, ("", "", "not judged"))
        rows.append((label_of(index), untrusted(choice), marked_as, *map(untrusted, judgement)))
    columns = ("choice", "text", "marked as", "supporting frames", "contradicting frames", "judged in")
    return card(table("Choices", columns, rows), omitted(len(result.question.choices) - len(rows), "choice"))


def _path(result: Result) -> Html:
    """Return in words where workers looked; `plots.path` draws it, and the walkthrough."""
    reports = result.trace.of(Report)
    added = sum(bool(event.kept) for event in reports)
    part = "the video" if result.within == (0.0, result.sheet.video.duration_s) else span_text(result.within)
    return paragraph(
        f"Explored: {counted(len(reports), 'visit')} by workers, {added:,} of which added evidence. Dead zones cover "
        f"{percent(result.dead_zones.coverage(*result.within))} of {part}."
    )


def _cost_table(result: Result) -> Html:
    names = ("calls", "prompt", "cached", "image", "completion", "effective")
    rows = [(row["role"], *(row[name] for name in names)) for row in result.costs()]
    caption = "Calls and tokens by role, including replies from the cache"
    spent = result.spent
    paid = (
        f"Without what came from the cache, this run made {counted(spent.calls, 'call')} and decoded "
        f"{counted(spent.frames_decoded, 'frame')}; it took {spent.seconds:.2f} s."
    )
    estimated = " Token counts are estimates." if result.total.estimated else ""
    return card(table(caption, ("role", *names), rows), paragraph(f"{paid}{estimated}"))
