"""The command line: `python -m atlaskit ask|evaluate|view|frame|serve|run|cache`.

A mistake of the user's is one sentence on stderr and a non-zero exit, never a traceback.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from atlaskit.agents.budget import Budget
from atlaskit.agents.search import ask
from atlaskit.agents.strategies import NAMES
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import served_key
from atlaskit.cli.cache import add_cache_commands, add_cache_option
from atlaskit.cli.evaluate import add_evaluate_command, literal
from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Kind, Question
from atlaskit.environment.render import Picture, Still, View
from atlaskit.errors import AtlasError, InputError, Unreachable, printable
from atlaskit.experiments.notebook import run_notebook
from atlaskit.experiments.runner import add_experiments_command
from atlaskit.models.client import VLM
from atlaskit.models.serving.server import USUAL_PORT, serve
from atlaskit.video.opening import open_video
from atlaskit.video.video import SAMPLINGS
from atlaskit.viz import movie, walk

LOCAL_SERVER = f"http://127.0.0.1:{USUAL_PORT}/v1"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status: 0 done, 1 no answer, 2 a mistake that the message names."""
    options = _parser().parse_args(arguments)
    warnings.showwarning = _say
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except AtlasError as error:
        print(f"atlaskit: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "atlaskit: stopped; what was answered is cached, so the same command continues from there.", file=sys.stderr
        )
        return 130


def _say(message: Warning | str, *where: object, **more: object) -> None:
    """Tell of a warning in a line of its own, without the place in the code that it comes from."""
    print(f"atlaskit: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="atlaskit", description="A long video as a map for a vision-language model.")
    commands = parser.add_subparsers(required=True, metavar="command")

    _add_ask(commands)
    add_evaluate_command(commands)

    viewing = commands.add_parser("view", help="write a video's contact sheet to an image file")
    viewing.set_defaults(run=_view)
    viewing.add_argument("video", type=Path)
    viewing.add_argument("out", type=Path, help="a .jpg or .png file")
    viewing.add_argument(
        "--open", type=int, nargs="*", default=[], metavar="CELL", help="cells to open, one inside the other"
    )
    _add_grid(viewing)

    framing = commands.add_parser("frame", help="write the frame shown at a second to an image file")
    framing.set_defaults(run=_frame)
    framing.add_argument("video", type=Path)
    framing.add_argument("seconds", type=float)
    framing.add_argument("out", type=Path, help="a .jpg or .png file")
    add_cache_option(framing)

    serving = commands.add_parser("serve", help="serve a model by vLLM on this machine, until Ctrl-C")
    serving.set_defaults(run=_serve)
    serving.add_argument("model", help="a name on the Hugging Face hub, or a folder")
    serving.add_argument("--port", type=int, default=USUAL_PORT, help=f"on 127.0.0.1 ({USUAL_PORT})")
    serving.add_argument("--tensor-parallel", type=int, default=1, metavar="N", help="GPUs that share one copy (1)")
    serving.add_argument("--data-parallel", type=int, default=1, metavar="N", help="copies of the model (1)")
    serving.add_argument("--vllm", default="", metavar="ARGUMENTS", help='of vLLM itself: --vllm="--max-num-seqs 8"')

    add_cache_commands(commands)
    add_experiments_command(commands)

    running = commands.add_parser("run", help="run notebooks headless")
    running.set_defaults(run=_run)
    running.add_argument("notebooks", type=Path, nargs="+")
    running.add_argument("--out", type=Path, default=Path("figures"), help="where executed notebooks go (figures)")
    running.add_argument(
        "-p",
        nargs=2,
        action="append",
        default=[],
        dest="parameters",
        metavar=("NAME", "VALUE"),
        help="a parameter, which all of them must declare",
    )
    return parser


def _add_ask(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    asking = commands.add_parser("ask", help="ask a question about a video")
    asking.set_defaults(run=_ask)
    asking.add_argument("video", type=Path)
    asking.add_argument("question")
    asking.add_argument(
        "--choice",
        action="append",
        default=[],
        help="a possible answer; at least two, or none at all",
    )
    kinds = asking.add_mutually_exclusive_group()
    for kind, wanted in (("when", "an interval of time"), ("count", "a number"), ("summary", "a summary")):
        kinds.add_argument(f"--{kind}", dest="kind", action="store_const", const=kind, help=f"ask for {wanted}")
    asking.add_argument("--subtitles", metavar="FILE", help="SRT, VTT, ASS or JSON; or the word embedded")
    asking.add_argument(
        "--model", nargs=2, metavar=("URL", "NAME"), help=f"default: the model served at {LOCAL_SERVER}"
    )
    asking.add_argument("--workers", type=int, default=4, help="regions explored at once (4)")
    asking.add_argument("--traversal", choices=NAMES, default="auto", help="how regions are searched (auto)")
    asking.add_argument("--max-depth", type=_depth, default="auto", help='"auto" or 0 … D_max')
    asking.add_argument("--calls", type=int, default=200, help="at most this many model calls (200)")
    asking.add_argument("--tokens", type=int, help="at most this many tokens")
    asking.add_argument("--seconds", type=float, help="at most this long")
    asking.add_argument("--sample", type=int, default=0, metavar="N", help="which of several answers, by number (0)")
    paying = asking.add_mutually_exclusive_group()
    paying.add_argument("--refresh", action="store_true", help="ask again what is kept")
    paying.add_argument("--replay", action="store_true", help="ask nothing: only what is kept counts")
    asking.add_argument("--fingerprint", help="of a video that was asked about before: its file may be missing")
    asking.add_argument("--save", type=Path, metavar="FILE", help="write the result as JSON")
    asking.add_argument("--evidence", type=Path, metavar="FILE", help="write the evidence frames as a PNG or JPEG")
    asking.add_argument("--html", type=Path, metavar="FILE", help="write the run as a page to walk through, offline")
    asking.add_argument("--movie", type=Path, metavar="FILE", help="write the run as a short film, MP4 or GIF")
    _add_grid(asking)
    asking.set_defaults(k=None, cell=None)  # what suits the model


def _add_grid(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--k", type=int, default=8, help="a grid has K×K cells (8; nano reads 4)")
    parser.add_argument("--cell", type=int, default=320, help="pixels of a cell's side (320; nano reads 128)")
    parser.add_argument(
        "--sampling", choices=SAMPLINGS, default="midpoint", help="which frame stands for a cell (midpoint)"
    )
    add_cache_option(parser)


def _ask(options: argparse.Namespace) -> int:
    kind: Kind = options.kind or ("choice" if options.choice else "open")
    question = Question(options.question, tuple(options.choice), kind)
    budget = Budget(calls=options.calls, tokens=options.tokens, seconds=options.seconds)
    if options.movie:
        movie.check_path(options.movie)  # told before anything is paid
    cache = Cache(options.cache)
    video = open_video(options.video, options.subtitles, fingerprint=options.fingerprint, cache=cache)
    if options.k is not None:
        Grid(0.0, video.duration_s, options.k)  # a wrong K is told before a model is looked for
    vlm = VLM(*options.model) if options.model else _local_model(cache, options.replay)
    result = ask(
        video,
        question,
        vlm=vlm,
        workers=options.workers,
        traversal=options.traversal,
        max_depth=options.max_depth,
        budget=budget,
        k=options.k,
        cell=options.cell,
        sampling=options.sampling,
        sample=options.sample,
        refresh=options.refresh,
        replay=options.replay,
        cache=cache,
        show=True,
    )
    print(result)
    for item in result.evidence:
        print(f"  [{item.label}] {item.timestamp_s:9.2f} s  {printable(item.description)}")
    if options.save:
        result.save(options.save)
    if options.evidence and len(result.evidence):
        _write(result.sheet, options.evidence)
    if options.html:
        walk.save(result, options.html)
    if options.movie:
        movie.save(result, options.movie)
    if result.prediction is None:
        print(f"atlaskit: no answer ({result.stop}{': ' + result.failure if result.failure else ''}).", file=sys.stderr)
        return 1
    return 0


def _view(options: argparse.Namespace) -> int:
    video = open_video(options.video)
    grid = Grid(0.0, video.duration_s, options.k)
    for cell in options.open:
        grid = grid.expand(cell)
    view = View(video, grid, options.cell, labels="time", sampling=options.sampling, cache=Cache(options.cache))
    _write(view, options.out)
    print(f"{options.out}: {grid.start_s:.3f}–{grid.end_s:.3f} s, {grid.resolution_s:.3f} s a cell")
    return 0


def _frame(options: argparse.Namespace) -> int:
    video = open_video(options.video)
    still = Still(video, options.seconds, Cache(options.cache))
    video.check_time(options.seconds)
    if still.unreadable:
        raise InputError(
            f"The frame of {options.video} at {options.seconds:g} s cannot be decoded: the file is damaged."
        )
    _write(still, options.out)
    print(f"{options.out}: the frame at {options.seconds:g} s")
    return 0


def _local_model(cache: Cache, is_replay: bool) -> VLM:
    """Return the model that is served on this machine; where it is gone, or not to be asked, the last one."""
    key = served_key(LOCAL_SERVER)
    last = cache.get_json(key)
    if is_replay and not isinstance(last, str):
        raise InputError("Name the model whose replies are to be replayed: --model URL NAME; the URL is not asked.")
    if is_replay:
        return VLM(LOCAL_SERVER, last)
    try:
        vlm = VLM(LOCAL_SERVER)
    except Unreachable:
        if not isinstance(last, str):
            raise
        return VLM(LOCAL_SERVER, last)
    cache.put_json(key, vlm.name)
    return vlm


def _serve(options: argparse.Namespace) -> int:
    try:
        arguments = shlex.split(options.vllm)
    except ValueError as error:
        raise InputError(f"The arguments of vLLM cannot be read ({error}): {options.vllm}") from error
    server = serve(
        options.model,
        port=options.port,
        tensor_parallel=options.tensor_parallel,
        data_parallel=options.data_parallel,
        arguments=arguments,
    )
    try:
        with server as vlm:
            if not server.is_ours:
                print(f"{vlm.name} answers at {vlm.base_url} already; it was not started here, nor is it stopped here.")
                return 0
            print(f"{vlm.name} answers at {vlm.base_url}; Ctrl-C stops it. Its log is {server.log}.", flush=True)
            server.wait()
    except KeyboardInterrupt:
        print("The server is stopped.")
    return 0


def _run(options: argparse.Namespace) -> int:
    parameters = {name: literal(value) for name, value in options.parameters}
    for notebook in options.notebooks:
        run_notebook(notebook, options.out, parameters)
    return 0


def _write(picture: Picture, path: Path) -> None:
    forms = {".jpg": picture.jpeg, ".jpeg": picture.jpeg, ".png": picture.png}
    form = forms.get(path.suffix.lower())
    if form is None:
        raise InputError(f"{path} should end in .jpg or .png.")
    try:
        path.write_bytes(form())
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error


def _depth(text: str) -> int | str:
    if text != "auto" and not text.isdecimal():
        raise argparse.ArgumentTypeError(f'a depth is "auto" or a whole number, got {text!r}')
    return text if text == "auto" else int(text)


if __name__ == "__main__":
    sys.exit(main())
