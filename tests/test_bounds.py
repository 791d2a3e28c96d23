"""What others send, traces, recordings, tables and rows, is read or refused in bounded time.

Each text has ten megabytes. For what an endpoint sends see `models/test_bounds.py`, for subtitles
`video/subtitles/test_bounds.py`.
"""

import lzma
import os
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from support.bounded import check_linear, check_takes, literals
from support.datasets import mlvu_row, write_json

import atlaskit as ak
from atlaskit import limits
from atlaskit.benchmarks.datasets.options import split_question
from atlaskit.benchmarks.datasets.registry import DATASETS
from atlaskit.benchmarks.datasets.rows import read_parquet
from atlaskit.caching.keys import KINDS
from atlaskit.errors import AtlasError, InputError, printable
from atlaskit.evaluation import tables
from atlaskit.runs import archive
from atlaskit.runs.result import trace_of
from atlaskit.video.subtitles import read_subtitles

HUGE, MOST_S, MOST_BYTES = 10_000_000, 4.0, 200_000_000
"""Bytes of a text; what reading it may take: two seconds here, twice that elsewhere."""
HEAD = b'{"atlaskit_trace":3}\n'


def filled(piece: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    return before + piece * (HUGE // len(piece)) + after


TEXTS = {
    "brackets": filled(b"["),
    "lists": filled(b"[],", b"[", b"[]]"),
    "objects": filled(b'{"a":1},', b"[", b"1]"),
    "lines": filled(b"\n"),
    "digits": filled(b"9"),
    "quotes": filled(b'"'),
    "escapes": filled(b"\\u00e9", b'"', b'"'),
    "commas": filled(b","),
}


def as_trace(folder: Path, data: bytes) -> None:
    (folder / "run").write_bytes(data)
    trace_of(folder / "run")


def as_recording(folder: Path, data: bytes) -> None:
    (folder / "run").write_bytes(lzma.compress(archive.HEADER + b"\n" + data, preset=0))
    ak.cache.import_(folder / "run", cache=ak.Cache(None))


def as_entries(folder: Path, data: bytes) -> None:
    """Read a recording for each kind of entry, with as much of the text as an entry may have."""
    for kind in KINDS.values():
        if kind.check is not None and not kind.is_image:
            key = b'{"%s:%d:%s":' % (kind.name.encode(), kind.version, b"0" * 64)
            as_recording(folder, key + data[: limits.ENTRY - 200] + b"}\n")


def as_table(folder: Path, data: bytes, card: bytes = b'{"columns of text":["prediction"]}') -> None:
    (folder / "rows.csv").write_bytes(data)
    (folder / "rows.csv.json").write_bytes(card)
    tables.load(folder / "rows.csv")


def as_card(folder: Path, data: bytes) -> None:
    as_table(folder, b"prediction\n1\n", data)


def as_subtitles(folder: Path, data: bytes) -> None:
    for name in ("a.srt", "a.ass", "a.json", "a.ttml"):
        (folder / name).write_bytes(data)
        with warnings.catch_warnings(), suppress(AtlasError):
            warnings.simplefilter("ignore")
            read_subtitles(folder / name)


def as_dataset(folder: Path, data: bytes) -> None:
    (folder / "lvb_val.json").write_bytes(data)
    DATASETS["longvideobench"].load(folder)


READERS: dict[str, tuple[Callable[[Path, bytes], None], bytes, bytes]] = {
    "trace": (as_trace, HEAD, b""),
    "event": (as_trace, HEAD + b'{"kind":"start","settings":', b"}\n"),
    "result": (as_trace, b'{"atlaskit_result":4,"trace":', b"}"),
    "recording": (as_recording, b"", b""),
    "entries": (as_entries, b"", b""),
    "table": (as_table, b"", b""),
    "predictions": (as_table, b"prediction\n", b""),
    "card": (as_card, b'{"columns of text":', b"}"),
    "subtitles": (as_subtitles, b"", b""),
    "dataset": (as_dataset, b"", b""),
}
"""What reads a text, and what stands before and after it."""


def read(reader: str, text: str, folder: Path) -> None:
    read_as, before, after = READERS[reader]
    try:
        read_as(folder, before + TEXTS[text] + after)
    except AtlasError as refused:
        assert len(str(refused)) < 1000


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("reader", READERS)
def test_ten_megabytes_are_read_or_refused_at_once(reader: str, text: str, tmp_path: Path) -> None:
    check_takes(MOST_S, read, reader, text, tmp_path)


@pytest.mark.parametrize("reader", READERS)
def test_ten_megabytes_take_little_memory(reader: str, tmp_path: Path) -> None:
    for text in ("lists", "objects"):
        tracemalloc.start()
        try:
            read(reader, text, tmp_path)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert most < MOST_BYTES, f"{most:,} bytes for {text}"


@pytest.mark.parametrize("piece", ["A. ", "\n(A) ", "../", "00:00-"])
def test_a_text_without_an_end_in_a_row_is_refused(piece: str, tmp_path: Path) -> None:
    """Its letters and names would be searched for seconds; the longest that is read takes none."""
    long, rows = piece * (HUGE // len(piece)), tmp_path / "MLVU" / "json" / "1_plotQA.json"
    write_json(rows, [mlvu_row(0, question=long)])
    with pytest.raises(InputError, match="row 0: .*question has more than 100,000 characters"):
        DATASETS["mlvu"].load(tmp_path)
    write_json(rows, [mlvu_row(0, question=long[: limits.ROW_TEXT])])
    with pytest.warns(UserWarning, match="1 videos are missing"):
        DATASETS["mlvu"].load(tmp_path)
    check_takes(MOST_S, DATASETS["mlvu"].load, tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("read", [trace_of, tables.load, ak.cache.import_])
def test_a_pipe_is_refused_and_not_waited_for(read: Callable[[Path], object], tmp_path: Path) -> None:
    for name in ("rows.csv", "rows.parquet"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(AtlasError, match="no regular file"):
            read(tmp_path / name)


USUAL = ("a", "1.", " ", "\n", "\t", "<", "{", "[", '"', "\\", "-", "é", "a b ", "0:0:", "A. ", "(A", "\n1\n")


@pytest.mark.parametrize(
    ("module", "parse"),
    [("benchmarks/datasets/options", split_question), ("errors", lambda text: printable(text, 300))],
)
def test_twice_the_text_takes_about_twice_the_time(module: str, parse: Callable[[str], Any]) -> None:
    for fragment in {*USUAL, *literals(module)}:
        check_linear(parse, fragment, 120_000, free_s=0.1)


def parquet_bombs(folder: Path) -> Iterator[Path]:
    """Write files of at most 10 MB that unpack to much, in each way that the format offers."""
    few = np.zeros(10, np.int8)
    tables = {
        "one text a million times": {"a": pa.DictionaryArray.from_arrays(np.zeros(400_000, np.int32), ["x" * 100_000])},
        "many rows": {"a": np.zeros(400_000, np.int8)},
        "too many rows": {"a": np.zeros(5_000_000, np.int8)},
        "many columns": {f"c{number}": few for number in range(9_000)},
        "one long list": {"a": pa.array([[0] * 1_900_000], pa.list_(pa.int8()))},
        "one list of lists": {"a": pa.array([[[]] * 1_900_000], pa.list_(pa.list_(pa.int8())))},
        "one long text": {"a": ["y" * 30_000_000]},
        "nothing, many times": {"a": pa.nulls(5_000_000)},
    }
    for name, columns in tables.items():
        pyarrow.parquet.write_table(pa.table(columns), folder / f"{name}.parquet", compression="zstd")
        assert (folder / f"{name}.parquet").stat().st_size < HUGE
        yield folder / f"{name}.parquet"


UNPACKING = """
import resource, sys
from pathlib import Path
import pyarrow.parquet
from atlaskit.benchmarks.datasets.rows import read_parquet
memory = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
before = memory()
try:
    read_parquet(Path(sys.argv[1])).to_pylist()
except ValueError as error:
    print(error)
print(memory() - before)
"""


@pytest.mark.long
def test_a_parquet_file_does_not_unpack_to_much(tmp_path: Path) -> None:
    for path in parquet_bombs(tmp_path):
        check_takes(MOST_S, lambda read=path: read_parquet(read).to_pylist())
        # By way of a small shell: a process that is forked begins with the peak of its parent.
        command = ["sh", "-c", '"$0" -c "$1" "$2"; exit', sys.executable, UNPACKING, str(path)]
        *words, grown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        assert int(grown) < MOST_BYTES, (path.name, f"{int(grown):,}")
        assert ("more than" in "".join(words)) == path.stem.startswith(("one text", "too many", "nothing")), words
