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
    add_budget_options,
    add_model_options,
    add_search_options,
    add_yes_option,
    budget_of,
    changes_of,
    named_model,
    search_of,
    server_notice,
    with_consent,
)
from atlaskit.cli.outputs import IMAGES, TABLES, add_output, count, seconds_of
from atlaskit.cli.transcribe import add_transcribe_option, with_transcript
from atlaskit.cli.view import SUBTITLES_HELP, VIDEO_HELP, open_beside, write_image
from atlaskit.environment.places import moment_in_words
from atlaskit.environment.question import Kind, Question, check_distinct
from atlaskit.errors import InputError, printable
from atlaskit.evaluation.each import ask_each
from atlaskit.evaluation.runner import EvaluationStopped
from atlaskit.evaluation.saving import save
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

Without --model, the model that `atlaskit serve` serves on this machine answers. If the command is
interrupted, run it again: it continues from the cached replies."""
OF_ONE_RUN = ("within", "after", "save", "evidence", "html", "export")
"""Options that do nothing if each film is asked on its own."""


def add_ask_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `ask` subcommand to the parser."""
    parser = commands.add_parser(
        "ask",
        description=(
            "Search a video for the answer to a question, and print the answer with the times of "
            "the frames\nthat prove it."
        ),
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_ask)
    parser.add_argument("video", help=VIDEO_HELP)
    parser.add_argument(
        "question", help="the question, as one argument: put it between quotation marks"
    )
    _add_answer_options(parser.add_argument_group("the answer"))
    models = parser.add_argument_group("the model")
    add_model_options(models, f"the model served at {LOCAL_SERVER}")
    add_yes_option(models)
    add_budget_options(parser.add_argument_group("limits"), calls=200)
    _add_result_options(parser)
    _add_subtitle_options(parser.add_argument_group("subtitles"))
    _add_each_options(parser)
    _add_reply_options(parser)
    search = parser.add_argument_group("the search")
    search.add_argument(
        "--within",
        nargs=2,
        type=seconds_of,
        metavar=("START", "END"),
        help="search a part of the video: --within 1:00:00 1:10:00 (default: the whole video)",
    )
    search.add_argument(
        "--workers",
        type=count,
        default=4,
        metavar="N",
        help="parts of the video that are explored at once in each round (default 4)",
    )
    add_search_options(search)


def _add_answer_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that say what the answer can be; by default it is a text."""
    group.add_argument(
        "--choice",
        action="append",
        default=[],
        metavar="TEXT",
        help="a possible answer; give this option twice or more (default: the answer is a text)",
    )
    kinds = group.add_mutually_exclusive_group()
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
    group.add_argument(
        "--several", action="store_true", help="with --when: the answer is one or more intervals"
    )


def _add_subtitle_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that say where the subtitles come from."""
    group.add_argument("--subtitles", metavar="FILE", help=SUBTITLES_HELP)
    add_transcribe_option(group)
    group.add_argument(
        "--language",
        help=(
            "read the embedded track in this language: en, eng or English; with --transcribe, the "
            "language that is spoken"
        ),
    )
    group.add_argument(
        "--subtitles-track",
        metavar="TRACK",
        help="read this embedded track: its number from 0, or its title",
    )


def _add_result_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the files to write."""
    group = parser.add_argument_group("files to write")
    add_output(group, "--save", (".json",), metavar="FILE", help="write the result as .json")
    add_output(
        group,
        "--evidence",
        IMAGES,
        metavar="FILE",
        help="write the frames that prove the answer as one image, .jpg or .png",
    )
    add_output(
        group,
        "--html",
        (".html", ".htm"),
        metavar="FILE",
        help="write how the answer was found, step by step, as one page, .html",
    )
    add_export_options(group, "--export", "write answer and evidence for other programs")


def _add_each_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for asking each of several films on its own."""
    group = parser.add_argument_group("several films")
    add_output(
        group,
        "--each",
        TABLES,
        metavar="FILE",
        help=(
            "ask each film of a folder, a pattern or a table on its own, and write one row for "
            "each to this table, .csv or .parquet"
        ),
    )
    group.add_argument(
        "--parallel",
        type=count,
        default=4,
        metavar="N",
        help="with --each: films that are asked at the same time (default 4)",
    )
    group.add_argument(
        "--total-calls",
        type=count,
        metavar="N",
        help="with --each: the most model calls for all films together (default: no limit)",
    )


def _add_reply_options(parser: argparse.ArgumentParser) -> None:
    """Add the options about cached replies and earlier runs."""
    group = parser.add_argument_group("earlier replies")
    exclusive = group.add_mutually_exclusive_group()
    exclusive.add_argument(
        "--refresh", action="store_true", help="ignore cached replies and cache the new ones"
    )
    exclusive.add_argument(
        "--replay", action="store_true", help="use cached replies only; make no model call"
    )
    group.add_argument(
        "--fingerprint",
        help=(
            "the hash of the video's content, which a saved result holds: with it, a replay does "
            "not need the file"
        ),
    )
    group.add_argument(
        "--after",
        nargs="+",
        default=[],
        metavar="FILE",
        help="results of earlier questions about this video (--save): start from what they found",
    )
    add_cache_option(group)


def _opened(options: argparse.Namespace, cache: Cache) -> Video:
    """Return the video with its subtitles: from a file, embedded, or transcribed."""
    if options.transcribe and options.subtitles:
        raise InputError(
            "--subtitles and --transcribe both give the subtitles: leave one of them out."
        )
    subtitles = options.subtitles
    if subtitles is None:
        if options.transcribe or options.fingerprint is not None:
            subtitles = "none"  # the file beside the video is not read; with a hash, none may exist
        elif options.language is not None or options.subtitles_track is not None:
            subtitles = "embedded"
    video = open_beside(
        options.video,
        subtitles,
        fingerprint=options.fingerprint,
        cache=cache,
        subtitles_track=options.subtitles_track,
        language=None if options.transcribe else options.language,
    )
    return with_transcript(video, options, cache)


def _check_each(options: argparse.Namespace) -> None:
    """Raise InputError for an option that would do nothing, with `--each` or without it."""
    if options.each is None and options.total_calls is not None:
        raise InputError("--total-calls is for --each: the limit of one question is --calls.")
    for name in OF_ONE_RUN:
        if options.each is not None and getattr(options, name):
            raise InputError(
                f"--each asks each film on its own, and --{name} is for one run: leave it out."
            )


def _ask(options: argparse.Namespace) -> int:
    check_export(options, options.export)
    _check_each(options)
    kind: Kind = options.kind or ("choice" if options.choice else "open")
    check_distinct(options.choice)
    question = Question(options.question, tuple(options.choice), kind, several=options.several)
    prices = None if options.prices is None else read_prices(options.prices)
    if prices is not None and options.usd is None:
        raise InputError("--prices is for a limit in US dollars: add --usd, or leave it out.")
    budget = budget_of(options, prices) or Budget()
    spec = named_model(options) or ModelSpec(LOCAL_SERVER)
    changes = changes_of(options)
    cache = Cache(options.cache)
    if options.refresh:
        cache = cache.refreshing()
    video = _opened(options, cache)
    vlm = with_consent(as_model(spec, cache, is_replay=options.replay, keep=True), options)
    with server_notice(vlm):
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
            f"--each asks each film of several: name a folder, a pattern or a table; "
            f"{printable(films.name, 200)} is one video."
        )
    total = None
    if options.total_calls is not None:
        total = Budget(calls=options.total_calls)
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
        f"{failed} failed; `atlaskit browse` opens it."
    )
    return 1 if failed else 0


def _report(options: argparse.Namespace, result: Result) -> int:
    """Print the result and write the files that the options name; return the exit status."""
    print(result)
    for item in result.evidence:
        if isinstance(result.sheet.video, Collection):
            where = moment_in_words(result.sheet.video, item.timestamp_s)
        else:
            where = f"{item.timestamp_s:9.2f} s"
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
        why = result.stopped_by
        if result.failure:
            why += f": {result.failure.rstrip('.')}"
        print(f"atlaskit: no answer ({why}).", file=sys.stderr)
        return 1
    return 0
