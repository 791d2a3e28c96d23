"""`atlaskit transcribe`, and `--transcribe` of other commands: write subtitles from the sound."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from atlaskit.agents.speech import PARALLEL, transcribe
from atlaskit.caching.cache import Cache
from atlaskit.cli.cache import add_cache_option
from atlaskit.cli.outputs import Output, add_output, count
from atlaskit.errors import printable
from atlaskit.models.speech import ASR
from atlaskit.video.opening import open_video
from atlaskit.video.subtitles import Subtitles
from atlaskit.video.video import Video

SRT = (".srt",)
EXAMPLES = """examples:
  atlaskit transcribe match.mp4 http://127.0.0.1:8000/v1 openai/whisper-large-v3
  atlaskit transcribe match.mp4 http://127.0.0.1:8000/v1 openai/whisper-large-v3 \\
    --language German --out match.de.srt"""


def add_transcribe_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `transcribe` subcommand to the parser."""
    parser = commands.add_parser(
        "transcribe",
        description=(
            "The sound is cut at pauses into chunks of at most 30 s, which are sent to the speech "
            "model.\nIf the command is interrupted, run it again: it continues from the cached "
            "chunks."
        ),
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_transcribe)
    parser.add_argument("video", help="a video file with sound: its path, or a file:// URL")
    parser.add_argument(
        "url", metavar="URL", help="OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1"
    )
    parser.add_argument(
        "model", metavar="NAME", help="speech model, such as openai/whisper-large-v3"
    )
    add_output(
        parser,
        "--out",
        SRT,
        metavar="FILE",
        help=(
            "the .srt file to write; an existing one is replaced (default: "
            "NAME-OF-THE-VIDEO.MODEL.srt in the current folder)"
        ),
    )
    parser.add_argument(
        "--language",
        help=(
            "the language that is spoken: en, eng or English (default: the model finds out); if "
            "there are several sound tracks, the one in this language is heard"
        ),
    )
    parser.add_argument(
        "--audio-track",
        type=int,
        metavar="N",
        help="number of the sound track, from 0 (default: the default track)",
    )
    parser.add_argument(
        "--prompt", default="", metavar="TEXT", help="names and style that the model should know"
    )
    parser.add_argument(
        "--parallel",
        type=count,
        default=PARALLEL,
        metavar="N",
        help=f"chunks in flight at once (default {PARALLEL})",
    )
    add_cache_option(parser)


def add_transcribe_option(parser: argparse._ActionsContainer) -> None:
    """Add the `--transcribe` option to a parser."""
    parser.add_argument(
        "--transcribe",
        nargs=2,
        metavar=("URL", "NAME"),
        help=(
            "let a speech model write the subtitles: the address of its OpenAI-compatible endpoint "
            "and its name; they are cached, and saved as an .srt file in the current folder"
        ),
    )


def with_transcript(video: Video, options: argparse.Namespace, cache: Cache) -> Video:
    """Let the speech model that `--transcribe` names, if any, write the subtitles of a video.

    They are also saved as an SRT file, whose path is printed.

    Returns:
        The same video.
    """
    if options.transcribe:
        video.subtitles = _transcribed(
            video,
            ASR(*options.transcribe),
            None,
            cache=cache,
            language=getattr(options, "language", None),
            replay=getattr(options, "replay", False),
        )
    return video


def _transcribe(options: argparse.Namespace) -> int:
    cache = Cache(options.cache)
    video = open_video(options.video, cache=cache)
    asr = ASR(options.url, options.model, prompt=options.prompt)
    lines = _transcribed(
        video,
        asr,
        options.out,
        cache=cache,
        language=options.language,
        audio_track=options.audio_track,
        parallel=options.parallel,
    )
    return 0 if len(lines) else 1


def _transcribed(video: Video, asr: ASR, out: Path | None, **options: Any) -> Subtitles:
    """Transcribe a video, save the lines as an SRT file, and print its path.

    Args:
        video: The video.
        asr: The speech model.
        out: The file; None for one in the current folder. Its name contains the model's name, so
            that it replaces no subtitle file of the video.
        **options: Arguments of `transcribe`.
    """
    stem = Path(video.name).stem
    model = re.sub(r"[^\w.-]+", "-", asr.name.rsplit("/", 1)[-1])[:60]
    written = out or Path(f"{stem}.{model}.srt")
    # `main` checks only what an option names, and no option need name this file.
    Output("--transcribe", "", SRT).check(written)
    lines = transcribe(video, asr, save=written, **options)
    if len(lines):
        shown = printable(str(written))
        print(f"{shown}: {len(lines)} lines heard by {printable(asr.name, 60)}", file=sys.stderr)
    return lines
