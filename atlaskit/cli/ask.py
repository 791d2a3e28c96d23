"""`atlaskit ask`: ask one question about one video."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from atlaskit.agents.budget import Budget
from atlaskit.agents.search import ask
from atlaskit.caching.cache import Cache
from atlaskit.cli.cache import add_cache_option
from atlaskit.cli.export import add_export_options, check_export
from atlaskit.cli.model import (
    LIMITS,
    add_budget_options,
    add_model_options,
    add_search_options,
    add_yes_option,
    asking,
    changes_of,
    named_model,
    search_of,
    told_of_kept,
)
from atlaskit.cli.outputs import IMAGES, TABLES, add_output, count, seconds_of
from atlaskit.cli.transcribe import add_transcribe_option, with_transcript
from atlaskit.cli.view import SUBTITLES_HELP, VIDEO_HELP, open_beside, write_image
from atlaskit.environment.places import moment_in_words
from atlaskit.environment.question import Kind, Question, check_distinct
from atlaskit.errors import InputError, printable
from atlaskit.evaluation.each import ask_each
from atlaskit.evaluation.runner import EvaluationStopped
from atlaskit.evaluation.tables import save
from atlaskit.models.prices import read_prices
from atlaskit.models.protocol import Model
from atlaskit.models.serving.server import LOCAL_SERVER, as_model
from atlaskit.models.spec import ModelSpec
from atlaskit.runs.result import Result
from atlaskit.video.collection import Collection
from atlaskit.video.video import Video
from atlaskit.viz import walk

EXAMPLES = """examples:
  atlaskit ask match.mp4 "Who wins?" --choice "the red team" --choice "the blue team"
  atlaskit ask match.mp4 "When does it rain?" --when --subtitles match.srt --seconds 1m30s
  atlaskit ask match.mp4 "Who wins?" --model http://127.0.0.1:8000/v1 Qwen/Qwen3-VL-8B-Instruct \\
    --save result.json --html run.html
  atlaskit ask footage/ "How many cars pass?" --count --each cars.csv
  atlaskit ask nights.mp4 "When is a fox in the picture?" --when --several \\
    --export foxes.eaf --clips foxes

Without --model, the model served on this machine answers (atlaskit serve). If it is interrupted,
run the same command again: it continues from the cached replies."""


def add_ask_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `ask` subcommand to the parser."""
    parser = commands.add_parser(
        "ask",
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_ask)
    parser.add_argument("video", help=VIDEO_HELP)
    parser.add_argument(
        "question", help="the question, as one argument: put it between quotation marks"
    )
    parser.add_argument(
        "--choice",
        action="append",
        default=[],
        metavar="TEXT",
        help="a possible answer; give at least two, or none for an open question (default none)",
    )
    kinds = parser.add_mutually_exclusive_group()
    for kind, wanted in (
        ("when", "an interval of time"),
        ("count", "a number"),
        ("summary", "a summary"),
    ):
        kinds.add_argument(
            f"--{kind}",
            dest="kind",
            action="store_const",
            const=kind,
            help=f"the answer is {wanted}",
        )
    parser.add_argument(
        "--several", action="store_true", help="with --when: the answer is one or more intervals"
    )
    _add_subtitle_options(parser)
    add_model_options(parser, f"the model served at {LOCAL_SERVER}")
    add_yes_option(parser)
    _add_search_options(parser)
    add_budget_options(parser, calls=200)
    paying = parser.add_mutually_exclusive_group()
    paying.add_argument(
        "--refresh", action="store_true", help="ignore cached replies and cache the new ones"
    )
    paying.add_argument(
        "--replay", action="store_true", help="use cached replies only; make no model call"
    )
    parser.add_argument(
        "--fingerprint", help="fingerprint of a video the cache knows; its file may be missing"
    )
    parser.add_argument(
        "--after",
        nargs="+",
        default=[],
        metavar="FILE",
        help=(
            "results of earlier questions about this video, saved by --save: what they learned is "
            "known to this one"
        ),
    )
    add_output(
        parser,
        "--each",
        TABLES,
        metavar="FILE",
        help=(
            "ask each film of a folder, a pattern or a table on its own, and write a row for each "
            "to this table, .csv or .parquet"
        ),
    )
    parser.add_argument(
        "--parallel", type=count, default=4, help="with --each: films asked at once (default 4)"
    )
    parser.add_argument(
        "--total-calls",
        type=count,
        metavar="N",
        help="with --each: calls of all films together (default: no limit but that of each)",
    )
    add_output(parser, "--save", (".json",), metavar="FILE", help="write the result as .json")
    add_output(
        parser,
        "--evidence",
        IMAGES,
        metavar="FILE",
        help="write the evidence frames as a .jpg or .png",
    )
    pages = (".html", ".htm")
    add_output(
        parser,
        "--html",
        pages,
        metavar="FILE",
        help="write the run as an offline walkthrough, .html",
    )
    add_export_options(parser, "--export", "write answer and evidence for other programs")
    add_cache_option(parser)


def _add_search_options(parser: argparse.ArgumentParser) -> None:
    add_search_options(parser)
    parser.add_argument(
        "--workers", type=count, default=4, help="regions explored in each round (default 4)"
    )
    parser.add_argument(
        "--within",
        nargs=2,
        type=seconds_of,
        metavar=("START", "END"),
        help="search a part of the video: --within 1:00:00 1:10:00 (default: the whole video)",
    )


def _add_subtitle_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--subtitles",
        metavar="FILE",
        help=SUBTITLES_HELP,
    )
    add_transcribe_option(parser)
    parser.add_argument(
        "--language", help="language of the embedded track, or that is spoken: en, eng or English"
    )
    parser.add_argument(
        "--subtitles-track",
        metavar="TRACK",
        help="the embedded track: its number from 0, or its title",
    )


def _opened(options: argparse.Namespace, cache: Cache) -> Video:
    """Return the video with its subtitles: given, embedded, or transcribed."""
    if options.transcribe and options.subtitles:
        raise InputError(
            "--subtitles and --transcribe both give the subtitles: leave one of them out."
        )
    given = options.subtitles
    chosen = options.transcribe or options.language or options.subtitles_track
    if given is None and (chosen or options.video is None or options.fingerprint is not None):
        given = "none"
    video = open_beside(
        options.video,
        given,
        fingerprint=options.fingerprint,
        cache=cache,
        subtitles_track=options.subtitles_track,
        language=None if options.transcribe else options.language,
    )
    return with_transcript(video, options, cache)


def _ask(options: argparse.Namespace) -> int:
    check_export(options, options.export)
    kind: Kind = options.kind or ("choice" if options.choice else "open")
    check_distinct(options.choice)
    question = Question(options.question, tuple(options.choice), kind, several=options.several)
    prices = None if options.prices is None else read_prices(options.prices)
    budget = Budget(**{name: vars(options)[name] for name in LIMITS}, prices=prices)
    spec = named_model(options) or ModelSpec(LOCAL_SERVER)
    changes = changes_of(options)
    cache = Cache(options.cache)
    cache = cache.refreshing() if options.refresh else cache
    video = _opened(options, cache)
    vlm = asking(as_model(spec, cache, is_replay=options.replay, keep=True), options)
    with told_of_kept(vlm):
        if options.each is not None:
            return _ask_each(options, video, question, vlm, changes, budget, cache)
        result = ask(
            video,
            question,
            vlm=vlm,
            search=search_of(options, vlm, changes),
            budget=budget,
            workers=options.workers,
            within=options.within,
            cache=cache,
            replay=options.replay,
            show=True,
            after=options.after,
        )
        return _report(options, result)


def _ask_each(
    options: argparse.Namespace,
    films: Video,
    question: Question,
    vlm: Model,
    changes: dict[str, Any],
    budget: Budget,
    cache: Cache,
) -> int:
    """Ask the question of each film, and write a row for each; return the exit status."""
    if not isinstance(films, Collection):
        raise InputError(
            f"--each asks each film of several: name a folder, a pattern or a table; {films.name} "
            "is one video."
        )
    total = None if options.total_calls is None else Budget(calls=options.total_calls)
    try:
        rows = ask_each(
            films,
            question,
            vlm=vlm,
            cache=cache,
            traces=options.each.with_name(f"{options.each.stem}-runs"),
            parallel=options.parallel,
            total=total,
            budget=budget,
            search=search_of(options, vlm, changes),
            workers=options.workers,
            replay=options.replay,
        )
    except EvaluationStopped as stopped:
        save(stopped.table, options.each)
        raise
    save(rows, options.each)
    for film, answer in zip(rows["video"], rows["answer"], strict=True):
        print(f"{printable(film, 80)}: {printable(answer) or 'no answer'}")
    failed = int((rows["stop"] == "failed").sum())
    print(
        f"{printable(str(options.each))}: {len(rows)} films, {int(rows['calls'].sum())} calls, "
        f"{failed} failed; atlaskit browse opens it."
    )
    return 1 if failed else 0


def _report(options: argparse.Namespace, result: Result) -> int:
    """Print the result and write what was asked for; return the exit status."""
    print(result)
    for item in result.evidence:
        where = f"{item.timestamp_s:9.2f} s"
        if isinstance(result.sheet.video, Collection):
            where = moment_in_words(result.sheet.video, item.timestamp_s)
        print(f"  [{item.label}] {where}  {printable(item.description)}")
    if options.save:
        result.save(options.save)
    if options.evidence and len(result.evidence):
        write_image(result.sheet, options.evidence)
    if options.html:
        walk.save(result, options.html)
    if options.export:
        result.export(options.export, recorded_at=options.recorded_at, clips=options.clips)
    if result.prediction is None:
        why = f": {result.failure.rstrip('.')}" if result.failure else ""
        print(f"atlaskit: no answer ({result.stopped_by}{why}).", file=sys.stderr)
        return 1
    return 0
