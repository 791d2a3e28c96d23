"""Measure video access beside its alternatives, on files of 1 h and 10 h: a part of `make bench`.

Each reader is measured in a process of its own, so that its peak memory is its own too. The
alternatives are those in common use: decord, OpenCV seeking to each frame (as the paper's published
code does), and torchcodec on the CPU, whose exact mode reads the whole file when it opens it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

import atlaskit as ak
import atlasworld as aw
from atlaskit.environment.grid import Grid
from atlaskit.environment.render import View
from atlasworld.renderer import SceneRenderer

MEDIA = Path("cache/bench")
"""The folder of the videos that the benchmarks make."""
SIZE = (1920, 1080)
FPS = 25
GOP_S = 10
"""Seconds between keyframes."""
RATE = 2_000_000
"""Bits per second."""
K = 8
CELL = (320, 180)
HOURS = (1, 10)
FRESH = 200
"""Index of the first development seed that is measured: the rule for frames was tuned on others."""
FORMS: dict[str, tuple[str, int, dict[str, str]]] = {
    "2s": ("libx264", 2, {"preset": "veryfast", "x264-params": "scenecut=0"}),
    "5s": ("libx264", 5, {"preset": "veryfast", "x264-params": "scenecut=0"}),
    "hevc": ("libx265", 10, {"preset": "ultrafast", "x265-params": "log-level=none"}),
    "vp9": ("libvpx-vp9", 10, {"deadline": "realtime", "cpu-used": "8", "crf": "34", "b": "0"}),
    "av1": ("libsvtav1", 10, {"preset": "12", "crf": "40"}),
}
"""The forms in which films are encoded again: codec, seconds between keyframes, encoder options."""
LONE_S = 2.0
"""An insert should be shown if it lasts at least so long and has its cells to itself."""
RULES = ("midpoint", "keyframe", "shots")
READERS = (
    "PyAV midpoint",
    "PyAV keyframe",
    "decord",
    "OpenCV",
    "torchcodec exact",
    "torchcodec approx.",
)
COLUMNS = ("open", "root", "depth 1", "depth 2", "peak MB")


def minute(path: Path) -> Path:
    """Return a minute of 1080p25, 2 Mbit/s: moving objects, grain, and a keyframe every 10 s."""
    if path.exists():
        return path
    world = aw.world(1, 60, size=SIZE, fps=FPS, directory=path.parent)
    renderer = SceneRenderer(world.script)
    rng = np.random.default_rng(0)
    grain = [rng.integers(-6, 7, (SIZE[1], SIZE[0], 1), dtype=np.int8) for _ in range(16)]
    draft = path.with_suffix(".part.mp4")
    with av.open(str(draft), "w") as container:
        gop = GOP_S * FPS
        options = {"preset": "veryfast", "x264-params": f"keyint={gop}:min-keyint={gop}:scenecut=0"}
        stream = container.add_stream("libx264", rate=FPS, options=options)
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        stream.bit_rate = RATE
        for index in range(60 * FPS):
            pixels = np.asarray(renderer.frame(index)).astype(np.int16) + grain[index % len(grain)]
            frame = av.VideoFrame.from_ndarray(
                np.clip(pixels, 0, 255).astype(np.uint8), format="rgb24"
            )
            frame.pts = index
            frame.time_base = Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return draft.rename(path)


def repeated(source: Path, path: Path, times: int, title: str = "") -> Path:
    """Write a file that repeats the one minute of another file by stream copy; return its path.

    Args:
        source: The file of one minute.
        path: The file to write.
        times: How many minutes to write.
        title: The title in the metadata. Files with different titles have different fingerprints,
            so that the cache keeps them apart.
    """
    with av.open(str(source)) as container, av.open(str(path), "w") as joined:
        joined.metadata["title"] = title
        stream = container.streams.video[0]
        copy = joined.add_stream_from_template(stream)
        tick = stream.time_base
        length = round(60 / tick)
        packets = [packet for packet in container.demux(stream) if packet.dts is not None]
        parts = [(bytes(p), p.pts, p.dts, p.duration, p.is_keyframe) for p in packets]
        for turn in range(times):
            for data, pts, dts, duration, is_keyframe in parts:
                packet = av.Packet(data)
                packet.pts = pts + turn * length
                packet.dts = dts + turn * length
                packet.duration = duration
                packet.time_base = tick
                packet.is_keyframe = is_keyframe
                packet.stream = copy
                joined.mux(packet)
    return path


def ten_minutes_720p() -> Path:
    """Return a 10-minute 1280×720 H.264 file at 24 fps: one minute, repeated by stream copy."""
    path = MEDIA / "ten-minutes-720p.mp4"
    if path.exists():
        return path
    source = aw.world(1, 60, size=(1280, 720), fps=24, directory=MEDIA, progress=True).video
    return repeated(source.path, path.with_suffix(".part.mp4"), 10).rename(path)


def midpoints(duration_s: float, path: tuple[int, ...]) -> list[float]:
    """Return the midpoints of the cells of the root grid, or of the grid at a path of cells."""
    return [cell.midpoint_s for cell in Grid(0.0, duration_s, K, path).cells]


def grids(duration_s: float) -> dict[str, list[float]]:
    """Return the times of the table's three grids, by name.

    "depth 2" spans 9 s, whatever the duration, so that the two lengths can be compared.
    """
    middle = duration_s / 2
    within_9_s = [middle + 9 * (index + 0.5) / 64 for index in range(64)]
    return {
        "root": midpoints(duration_s, ()),
        "depth 1": midpoints(duration_s, (27,)),
        "depth 2": within_9_s,
    }


def seconds(action: Callable[[], object], repeats: int = 1) -> float:
    """Return the median time of an action in seconds."""
    times = list[float]()
    for _ in range(repeats):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def measure(reader: str, path: Path) -> dict[str, float]:
    """Return one reader's times in seconds and its peak memory, measured in this process.

    Args:
        reader: One of READERS.
        path: A file that is named after its hours: "10h.mp4".
    """
    began = time.perf_counter()
    read = open_reader(reader, path)
    row = {"open": time.perf_counter() - began}
    duration_s = 3600.0 * int(path.stem.removesuffix("h"))
    for name, times_s in grids(duration_s).items():
        row[name] = seconds(lambda times_s=times_s: read(times_s))
    peak_kb = next(
        line.split()[1]
        for line in Path("/proc/self/status").read_text().splitlines()
        if "VmHWM" in line
    )
    return row | {"peak MB": int(peak_kb) / 1024}


def open_reader(reader: str, path: Path) -> Callable[[list[float]], object]:
    """Open a file; return a function that reads the frames at given times at 320×180 pixels."""
    if reader == "decord":
        import decord

        file = decord.VideoReader(str(path), width=CELL[0], height=CELL[1])
        return lambda times_s: file.get_batch([int(t * FPS) for t in times_s]).asnumpy()
    if reader == "OpenCV":
        import cv2

        capture = cv2.VideoCapture(str(path))

        def seek_each(times_s: list[float]) -> list[np.ndarray]:
            frames = []
            for time_s in times_s:
                capture.set(cv2.CAP_PROP_POS_FRAMES, int(time_s * FPS))
                frames.append(cv2.resize(capture.read()[1], CELL, interpolation=cv2.INTER_AREA))
            return frames

        return seek_each
    if reader.startswith("torchcodec"):
        return torchcodec_reader(path, "exact" if "exact" in reader else "approximate")
    video = ak.open_video(path)
    if reader == "PyAV midpoint":
        return lambda times_s: video.frames(times_s, CELL)

    def at_keyframes(times_s: list[float]) -> object:
        span = times_s[1] - times_s[0]
        return video.frames(
            [video.moment(t - span / 2, t + span / 2, "keyframe") for t in times_s], CELL
        )

    return at_keyframes


def torchcodec_reader(path: Path, mode: str) -> Callable[[list[float]], object]:
    """Return a function that reads frames with torchcodec, on two threads as the other readers."""
    from torch.nn.functional import interpolate
    from torchcodec.decoders import VideoDecoder

    decoder = VideoDecoder(str(path), seek_mode=mode, device="cpu", num_ffmpeg_threads=2)
    start_s = decoder.metadata.begin_stream_seconds or 0.0

    def read(times_s: list[float]) -> list[np.ndarray]:
        frames = (decoder.get_frame_played_at(start_s + time_s).data for time_s in times_s)
        return [
            interpolate(frame[None].float(), CELL[::-1], mode="area")[0].byte().numpy()
            for frame in frames
        ]

    return read


def cached_view(path: Path) -> float:
    """Return the seconds to read the cached view of the root grid as JPEG, the best of five."""
    with tempfile.TemporaryDirectory() as folder:
        view: View = ak.view(ak.open_video(path), sampling="keyframe", cache=ak.Cache(folder))
        view.jpeg()
        return min(seconds(view.jpeg) for _ in range(5))


def measure_in_new_process(reader: str, path: Path) -> dict[str, float]:
    """Return what `measure` returns, measured in a new process."""
    command = [sys.executable, __file__, "--column", reader, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it failed"]
        raise MissingReader(f"{reader}: {lines[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


class MissingReader(Exception):
    """A reader is not installed here, or cannot be loaded."""


def table(folder: Path, hours: Sequence[int] = HOURS, containers: Sequence[str] = ("mp4",)) -> None:
    """Make the files, print the measurements and the goals, and delete the long files.

    A long file repeats one minute by stream copy: nothing is encoded for it.
    """
    short = minute(folder / "minute-1080p.mp4")
    for container in containers:
        one_hour: dict[str, dict[str, float]] = {}
        for count in hours:
            path = repeated(short, folder / f"{count}h.{container}", 60 * count)
            try:
                rows = measured_rows(path)
                cached_ms = cached_view(path) * 1e3
            finally:
                path.unlink()
            print(
                f"\n1080p25 H.264 in {container.upper()}, {count} h, 2 Mbit/s, a keyframe every "
                f"{GOP_S} s; 64 frames at 320×180, cold, in seconds"
            )
            print(f"  {'':<20}" + "".join(f"{column:>10}" for column in COLUMNS))
            for reader, row in rows.items():
                cells = (
                    f"{row[c]:10.0f}" if c == "peak MB" else f"{row[c]:10.2f}" for c in COLUMNS
                )
                print(f"  {reader:<20}" + "".join(cells))
            print(f"  the view of the root grid, cached: {cached_ms:.1f} ms")
            one_hour = one_hour or rows
            goals(rows, one_hour, cached_ms)


def measured_rows(path: Path) -> dict[str, dict[str, float]]:
    """Return the measurements of each reader that is installed here."""
    rows = dict[str, dict[str, float]]()
    for reader in READERS:
        try:
            rows[reader] = measure_in_new_process(reader, path)
        except MissingReader as missing:
            print(f"  {missing}", flush=True)
    return rows


def bench_world(folder: Path) -> None:
    """Time a 10-hour world: a playlist of clips, each encoded once."""
    encoding = seconds(lambda: aw.world(0, 36_000, directory=folder, progress=True).video)
    world = aw.world(0, 36_000, directory=folder)
    opening = seconds(lambda: world.video)
    with tempfile.TemporaryDirectory() as cache:
        other = aw.world(1, 36_000, directory=folder, progress=True)
        view = ak.view(world.video, cache=ak.Cache(cache))
        other_view = ak.view(other.video, cache=ak.Cache(cache))
        root = seconds(view.jpeg)
        shared = seconds(other_view.jpeg)
    print(
        f"\nA 10-hour AtlasWorld of {len(world.order)} clips, {len(world.clips)} of them "
        "distinct, at 640×360"
    )
    print(
        f"  encoding the clips that are missing {encoding:.1f} s; making and opening the world "
        f"{opening:.2f} s"
    )
    print(
        f"  root grid, cold {root:.2f} s; of another world with the same clips and cache "
        f"{shared:.2f} s"
    )


def shown_events(hours: float, count: int) -> None:
    """Print how many of the events of drawn worlds the root grid shows, by sampling.

    Args:
        hours: The duration of a world.
        count: The number of worlds.
    """
    cells: dict[str, list[list[bool]]] = {"midpoint": [], "shots": []}
    wanted: dict[str, list[bool]] = {rule: [] for rule in cells}
    frames = 0
    for seed in aw.seeds("development")[FRESH : FRESH + count]:
        world = aw.world(seed, hours * 3600, size=(320, 180))
        targets = {
            event.id: event for question in world.questions for event in world.targets(question)
        }
        for rule, found in cells.items():
            view: View = ak.view(world.drawn, k=K, sampling=rule, cache=ak.Cache(None))
            frames_before = world.drawn.frames_decoded
            moments_s = view.moments
            frames += world.drawn.frames_decoded - frames_before
            shows = list[bool]()
            for at_s, cell in zip(moments_s, view.cells, strict=True):
                spans = [(event.start_s, event.end_s) for event in world.script.events]
                if any(cell.overlaps(*span) for span in spans):
                    shows.append(any(start_s <= at_s < end_s for start_s, end_s in spans))
            found.append(shows)
            for event in targets.values():
                is_shown = any(event.start_s <= at_s < event.end_s for at_s in moments_s)
                wanted[rule].append(is_shown)
    print(
        f"\n{count} drawn worlds of {hours * 60:.0f} minutes, root grid at K = {K}; development "
        "seeds"
    )
    for rule, found in cells.items():
        hits = sum(map(sum, found))
        all_cells = sum(map(len, found))
        events = wanted[rule]
        print(
            f"  {rule:<10}{hits / all_cells:6.1%} of {all_cells} cells with an event show it; "
            f"{sum(events) / len(events):6.1%} of {len(events)} events that questions are about "
            "are shown"
        )
    gains = list[float]()
    for shots, midpoint in zip(cells["shots"], cells["midpoint"], strict=True):
        gains.append(sum(shots) / len(shots) - sum(midpoint) / len(midpoint))
    rng = np.random.default_rng(0)
    means = [rng.choice(gains, len(gains)).mean() for _ in range(10_000)]
    low, high = np.percentile(means, [2.5, 97.5])
    print(
        f"  difference by world, 95 %: {low:+.1%} to {high:+.1%}; {frames / count:.0f} frames "
        "decoded for shots"
    )


def films_table(folder: Path, forms: list[str]) -> None:
    """Print how many inserts of films the root grid shows, by rule, and how long it takes.

    The content detector of PySceneDetect, which decodes the whole film, is measured too if it can
    be imported. An insert counts as found if a scene begins within half a second of its start or
    its end.

    Args:
        folder: The films. Beside a film `x.mp4` lies `x.mp4.truth.json` with the start and end of
            each insert, and there may be the film in other forms, such as `x__2s.mp4`.
        forms: The forms to measure, keys of FORMS.
    """
    shown: dict[tuple[str, int, str], list[int]] = {}
    for truth in sorted(folder.glob("*.truth.json")):
        film = truth.with_name(truth.name.removesuffix(".truth.json"))
        inserts = list[tuple[float, float]]()
        for each in json.loads(truth.read_text())["inserts"]:
            inserts.append((each["start"], each["end"]))
        for form in ("x264", *forms):
            path = film if form == "x264" else film.with_name(f"{film.stem}__{form}{film.suffix}")
            if path.exists():
                film_rows(path, form, inserts, shown)
    print("\nAll films: lone inserts of 2 s and more that are shown")
    for (form, k, rule), (hits, count) in sorted(shown.items()):
        print(f"  {form:<6} K = {k:<4}{rule:<14}{hits:4} of {count:<4} {hits / max(1, count):7.1%}")


def film_rows(
    path: Path,
    form: str,
    inserts: list[tuple[float, float]],
    shown: dict[tuple[str, int, str], list[int]],
) -> None:
    """Print the rows of one film, and add its lone inserts to the sums.

    Args:
        path: The film.
        form: Its form, "x264" or a key of FORMS.
        inserts: Start and end of each insert in seconds.
        shown: By form, K and rule: how many lone inserts are shown, and how many there are.
    """
    video = ak.open_video(path)
    print(f"\n{path.name}: {video.duration_s / 60:.0f} minutes, {len(inserts)} inserts", flush=True)
    for k in (8, 16):
        span_s = video.duration_s / k**2
        cells = [
            {*range(int(start_s / span_s), int(end_s / span_s) + 1)} for start_s, end_s in inserts
        ]
        are_lone = list[bool]()
        for (start_s, end_s), own in zip(inserts, cells, strict=True):
            sharing = sum(not own.isdisjoint(other) for other in cells)  # itself included
            are_lone.append(end_s - start_s >= LONE_S and sharing == 1)
        for rule in RULES:
            began = time.perf_counter()
            view: View = ak.view(video, k=k, cell=CELL[0], sampling=rule, cache=ak.Cache(None))
            view.image  # noqa: B018 - to time the whole sheet
            taken_s = time.perf_counter() - began
            are_shown = [
                any(start_s <= at_s < end_s for at_s in view.moments) for start_s, end_s in inserts
            ]
            hits = sum(lone and each for lone, each in zip(are_lone, are_shown, strict=True))
            add(shown, (form, k, rule), hits, sum(are_lone))
            print(
                f"  K = {k:<4}{rule:<14}{sum(are_shown):3} of {len(inserts)} inserts, {hits:3} of "
                f"{sum(are_lone)} lone ones{taken_s:9.1f} s",
                flush=True,
            )
    with contextlib.suppress(ImportError):
        began = time.perf_counter()
        starts_s = scenes(path)
        taken_s = time.perf_counter() - began
        found = sum(
            any(abs(edge_s - at_s) < 0.5 for edge_s in each for at_s in starts_s)
            for each in inserts
        )
        print(
            f"          PySceneDetect {found:3} of {len(inserts)} inserts have a cut at an edge, "
            f"{len(starts_s)} cuts{taken_s:9.1f} s",
            flush=True,
        )
        add(shown, (form, 0, "PySceneDetect"), found, len(inserts))


def add(
    shown: dict[tuple[str, int, str], list[int]], key: tuple[str, int, str], hits: int, count: int
) -> None:
    """Add to the hits and the count of a row."""
    before = shown.setdefault(key, [0, 0])
    before[0] += hits
    before[1] += count


def scenes(path: Path) -> list[float]:
    """Return the seconds at which PySceneDetect's content detector finds that a scene begins."""
    # PySceneDetect is not among the dependencies, since it brings its own OpenCV.
    scenedetect = importlib.import_module("scenedetect")
    return [
        start.get_seconds()
        for start, _ in scenedetect.detect(str(path), scenedetect.ContentDetector())
    ]


def make_film(path: Path, seed: int, minutes: float) -> Path:
    """Write a film of AtlasWorld with eight inserts, and their times in `PATH.truth.json`.

    An insert is a card of coloured squares, still or moving, of 2 to 6 s.
    """
    rng = np.random.default_rng(seed)
    size = (640, 360)
    fps = 10
    world = aw.world(seed, minutes * 60, size=size, fps=fps)
    renderer = SceneRenderer(world.script)
    total = int(minutes * 60 * fps)
    starts = np.sort(
        rng.choice(np.arange(20, minutes * 60 - 20, 20), 8, replace=False)
    ) + rng.uniform(0, 8, 8)
    spans = [(round(float(at), 1), round(float(at + rng.uniform(2, 6)), 1)) for at in starts]
    cards = [rng.integers(0, 256, (9, 16, 3), np.uint8).repeat(40, 0).repeat(40, 1) for _ in spans]
    with av.open(str(path), "w") as container:
        stream = container.add_stream(
            "libx264", rate=fps, options={"preset": "veryfast", "g": "100"}
        )
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        for index in range(total):
            at_s = index / fps
            number = next(
                (n for n, (start_s, end_s) in enumerate(spans) if start_s <= at_s < end_s), None
            )
            if number is None:
                pixels = np.asarray(renderer.frame(index))
            else:
                pixels = np.roll(cards[number], (number % 2) * 4 * index, axis=1)
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    truth = {"inserts": [{"start": start_s, "end": end_s} for start_s, end_s in spans]}
    Path(f"{path}.truth.json").write_text(json.dumps(truth))
    return path


def encode_again(path: Path, form: str) -> Path:
    """Encode a film in another form beside it, unless that file exists; return its path."""
    codec, gop_s, options = FORMS[form]
    target = path.with_name(f"{path.stem}__{form}{path.suffix}")
    if target.exists():
        return target
    draft = target.with_name(f"{target.stem}.part{target.suffix}")
    with av.open(str(path)) as source, av.open(str(draft), "w") as container:
        given = source.streams.video[0]
        rate = given.average_rate or Fraction(25)
        stream = container.add_stream(codec, rate=rate, options=options)
        stream.width = given.codec_context.width
        stream.height = given.codec_context.height
        stream.pix_fmt = "yuv420p"
        stream.codec_context.gop_size = round(gop_s * rate)
        for index, frame in enumerate(source.decode(given)):
            plain = av.VideoFrame.from_ndarray(frame.to_ndarray(format="yuv420p"), format="yuv420p")
            plain.pts = index
            plain.time_base = 1 / Fraction(rate)
            container.mux(stream.encode(plain))
        container.mux(stream.encode())
    return draft.rename(target)


def goals(
    rows: dict[str, dict[str, float]], one_hour: dict[str, dict[str, float]], cached_ms: float
) -> None:
    """Print each goal beside the figure reached.

    Args:
        rows: The measurements of each reader on a file.
        one_hour: The same on the shortest file.
        cached_ms: The time of a view that is cached.
    """
    exact = rows["PyAV midpoint"]
    growth = exact["root"] / one_hour["PyAV midpoint"]["root"]
    lines = [  # label, figure, goal, and whether the figure should be at least the goal
        ("peak memory, MB", exact["peak MB"], 300.0, False),
        ("root, times its cost on the shortest file", growth, 1.2, False),
        ("cached view, ms", cached_ms, 30.0, False),
    ]
    peers = [reader for reader in rows if not reader.startswith("PyAV")]
    for column, label in (("root", "root"), ("depth 2", "64 frames within 9 s")):
        best = min(peers, key=lambda reader: rows[reader][column], default=None)
        if best is not None:
            times = rows[best][column] / exact[column]
            lines.append((f"{label}, times as fast as {best}", times, 2.0, True))
    for label, reached, goal, at_least in lines:
        is_met = reached >= goal if at_least else reached <= goal
        verdict = "met   " if is_met else "MISSED"
        sign = "≥" if at_least else "≤"
        print(f"  {verdict}  {label:<52}{reached:8.1f}   goal {sign} {goal:g}", flush=True)


def main() -> int:
    """Print the table; with --column, print the measurements of one reader as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=MEDIA)
    parser.add_argument("--column", nargs=2, metavar=("READER", "FILE"))
    parser.add_argument("--readers", action="store_true", help="print only the table of readers")
    parser.add_argument(
        "--hours", nargs="*", type=int, default=list(HOURS), help="with --readers: 1 10"
    )
    parser.add_argument(
        "--containers", nargs="*", default=["mp4"], help="with --readers: mp4 mkv ts"
    )
    parser.add_argument(
        "--films", type=Path, help="a folder of films with their truths: print only their table"
    )
    parser.add_argument(
        "--forms", nargs="*", default=list(FORMS), choices=list(FORMS), metavar="FORM"
    )
    options = parser.parse_args()
    if options.films:
        films_table(options.films, options.forms)
        return 0
    if options.column:
        print(json.dumps(measure(options.column[0], Path(options.column[1]))))
        return 0
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.readers:
        table(options.folder, options.hours, options.containers)
        return 0
    own = options.folder / "films"
    own.mkdir(exist_ok=True)
    for seed in (0, 1):
        film = own / f"film{seed}.mp4"
        if not film.exists():
            make_film(film, seed, minutes=20)
        for form in options.forms:
            encode_again(film, form)
    films_table(own, options.forms)
    for hours, count in ((1 / 6, 20), (1, 20), (10, 10)):
        shown_events(hours, count)
    bench_world(options.folder)
    table(options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
