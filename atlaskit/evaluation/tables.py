"""Evaluation tables: on disk, joined, and in parts.

The settings card is a file beside the table, `rows.csv.json` for `rows.csv`, so that a table stays
with the settings that produced it.

* `save`, `load`, `so_far`, `newest`, `joined`: tables as Parquet or CSV, of one method or several.
* `shard`, `merged`: parts of a benchmark for machines without a cluster, and their whole table.
* `failed`, `replaced`, `with_retried`: questions that are asked again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlaskit import limits
from atlaskit.benchmarks.case import Benchmark
from atlaskit.benchmarks.datasets.rows import is_missing, read_parquet
from atlaskit.caching.files import open_regular, read_whole
from atlaskit.caching.keys import read_json
from atlaskit.environment.question import as_answered
from atlaskit.errors import InputError, printable, reason
from atlaskit.evaluation.baselines import METHODS
from atlaskit.evaluation.card import (
    OF_THE_RUN,
    TEXT,
    checked_card,
    common_settings,
    differences,
    questions_card,
)
from atlaskit.evaluation.saving import check_path as check_path
from atlaskit.evaluation.saving import prediction_texts
from atlaskit.evaluation.saving import save as save
from atlaskit.evaluation.saving import so_far as so_far
from atlaskit.video.spreadsheet import read_text, separator_of

if TYPE_CHECKING:
    import pandas as pd

RIGHT_FROM = 0.5
"""The lowest score that counts as right."""
TEXTS = (
    *("id", "video", "question", "choices", "truth", "answer", "method", "kind", "category"),
    *("stop", "failure", "fingerprint", "trace", "model"),
)
"""Columns that are read as texts if a table has no card that lists such columns."""
METHOD_ORDER = tuple(METHODS)
"""The methods in the order in which tables and figures show them."""


def newest(path: str | Path) -> tuple[Path, int]:
    """Return the newer one of a table and its unfinished rows (`so_far`), and when it was written.

    Returns:
        The path, and the time at which its card was written, in nanoseconds since 1970; the path of
        the table and 0 if neither has a card.
    """
    written = dict[Path, int]()
    for each in (Path(path), so_far(path)):
        try:  # the time of the card, since the card is written after the table
            written[each] = each.with_name(f"{each.name}.json").stat().st_mtime_ns
        except OSError:
            written[each] = 0
    return max(written.items(), key=lambda item: item[1])


def load(path: str | Path) -> pd.DataFrame:
    """Read a table of results, with its settings card, if it has one, in `attrs`.

    A table without a card, as `rows.to_csv("rows.csv")` or a spreadsheet writes it, needs only the
    columns `id`, `video` and `score`; a warning names what is missing. The result is a DataFrame
    with a method `save`, which writes it again.

    Raises:
        InputError: The file cannot be read, or is no table of results.

    Examples:
        >>> ak.read_rows("rows.csv")["score"].tolist() == rows["score"].tolist()
        True
    """
    from atlaskit.evaluation.frame import EvaluationRows

    source = Path(path)
    try:
        open_regular(source).close()  # a pipe would keep the reader waiting
        card = _card_of(source)
        if source.suffix != ".csv":
            rows = read_parquet(source).to_pandas()
        elif card is None:
            separator, text = separator_of(read_text(source))
            rows = _read_csv(text, separator, TEXTS)
        else:
            rows = _read_csv(read_whole(source).decode(), ",", card[TEXT])
        if len(rows) > limits.TABLE_ROWS:
            raise ValueError(f"it has more than {limits.TABLE_ROWS:,} rows")
        if card is None:
            rows = _completed(rows, source)
        else:
            rows.attrs = dict(card)
            del rows.attrs[TEXT]
        _check_columns(rows)
        predictions = _predictions(rows, is_ours=card is not None)
        prediction_texts(rows, predictions)  # raises for what `save` could not write
    except (OSError, ValueError, KeyError, TypeError) as error:
        fault = reason(error).rstrip(".")
        raise InputError(f"{source} is not a saved evaluation: {fault}.") from error
    column = prediction_column(list(map(as_answered, predictions)))
    return EvaluationRows(rows.assign(prediction=column)).with_card(rows.attrs)


def _card_of(table: Path) -> dict[str, Any] | None:
    """Return the card beside a table; None for a table without a card."""
    path = table.with_name(f"{table.name}.json")
    if table.is_file() and not path.exists():
        return None
    return checked_card(read_json(read_whole(path)))


def _read_csv(text: str, separator: str, texts: Sequence[str]) -> pd.DataFrame:
    """Return the rows of a CSV. The columns `texts` hold texts, which stay as they are."""
    import pandas as pd

    if any(line.count(separator) > limits.COMMAS for line in text.splitlines()):
        raise ValueError(f"a line has more than {limits.COMMAS:,} commas")
    columns = pd.read_csv(StringIO(text), sep=separator, nrows=0).columns
    empty = {name: [""] for name in columns if name not in texts}
    return pd.read_csv(
        StringIO(text),
        sep=separator,
        dtype=dict.fromkeys(texts, str),
        nrows=limits.TABLE_ROWS + 1,
        keep_default_na=False,
        na_values=empty,
    )


def _completed(rows: pd.DataFrame, source: Path) -> pd.DataFrame:
    """Add columns to a table without a card so that it can be read; warn which were missing."""
    for name in ("id", "video", "score"):
        if name not in rows:
            listed = ", ".join(printable(str(column), 40) for column in rows.columns[:8])
            raise ValueError(f"it has no column {name!r}, but {listed}")
    absent = list[str]()
    usual = {"method": source.stem, "failure": "", "stop": "", "prediction": None}
    for name, value in usual.items():
        if name not in rows:
            absent.append(name)
            rows = rows.assign(**{name: value})
    if "right" not in rows:
        rows = rows.assign(right=rows["score"] >= RIGHT_FROM)
    rows.attrs = {}
    columns = f", nor has it the columns {', '.join(absent)}" if absent else ""
    warnings.warn(
        f"{source} has no card ({source.name}.json), so its settings are not known{columns}: "
        "`rows.save` and `atlaskit evaluate` write a card beside a table.",
        stacklevel=4,
    )
    return rows


def _predictions(rows: pd.DataFrame, *, is_ours: bool) -> list[Any]:
    """Return the predictions of a table as values."""
    if is_ours:
        predictions: list[Any] = read_json(f"[{','.join(rows['prediction'].astype(str))}]")
        if len(predictions) != len(rows):
            raise ValueError("a prediction is more than one value")
        return predictions
    return list(map(_prediction_of, rows["prediction"]))


def _prediction_of(value: Any) -> Any:
    """Return the prediction in a cell of a table that pandas wrote: a number, intervals or text."""
    if is_missing(value):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str):
        return value
    try:  # pandas writes intervals as tuples of Python
        return read_json(value.replace("(", "[").replace(",)", "]").replace(")", "]"))
    except ValueError:
        return value


def _check_columns(rows: pd.DataFrame) -> None:
    """Raise ValueError if a column has another type than in the tables of `evaluate`."""
    from pandas.api import types

    for name in ("score", "tokens", "calls_paid"):
        if name in rows and len(rows) and not types.is_numeric_dtype(rows[name]):
            raise ValueError(f"its column {name} must hold numbers")
    if "right" in rows and len(rows) and not types.is_bool_dtype(rows["right"]):
        raise ValueError("its column right must hold True or False")
    for name in ("id", "video", "method", "failure"):
        if name in rows and not rows[name].map(lambda value: isinstance(value, str)).all():
            raise ValueError(f"its column {name} must hold texts")


def own_trace(trace: str, folder: Path) -> Path:
    """Return the path of the saved run that a row names, which must lie in a folder.

    A table from elsewhere could otherwise name any file of this machine.

    Raises:
        InputError: The path lies outside the folder.
    """
    shown = printable(trace, 200)
    try:
        path = (folder / trace).resolve()
        is_inside = path.is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError) as error:  # a loop of links, a name with a zero byte
        raise InputError(f"The run {shown!r} cannot be read: {reason(error)}.") from error
    if not is_inside:
        raise InputError(
            f"The run {shown} is outside {printable(str(folder), 200)}, where the table's runs "
            "are read: if you trust the table, name the folder of its runs with --traces "
            "(traces= of RunTable)."
        )
    return path


def joined(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of several tables of `evaluate` as one table.

    Args:
        tables: The tables, by the name of their method.

    Returns:
        The only table; or all rows in the order of the tables, with the `attrs` of each under
        `methods`.
    """
    if len(tables) == 1:
        return next(iter(tables.values()))
    rows = _concatenated(tables.values())
    rows.attrs = {"methods": {name: table.attrs for name, table in tables.items()}}
    return rows.reset_index(drop=True)


def _concatenated(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of several tables; predictions keep their types."""
    import pandas as pd

    return pd.concat([table.astype({"prediction": object}) for table in tables])


def prediction_column(predictions: list[Any]) -> Any:
    """Return predictions as a column that keeps None and integers as they are.

    pandas would otherwise turn None into NaN, and the integers in the same column into floats.
    """
    import pandas as pd

    return pd.Series(predictions, dtype=object) if None in predictions else predictions


QUESTION = ["method", "id", "video"]
"""The columns that together identify a row of a table."""
SHARD = "shard"
"""The field of a card that describes a shard: its `number`, the number `of` shards, the `places` of
its questions in the benchmark, and the card of the questions of the `whole` benchmark."""


def shard(cases: Benchmark, number: int, of: int) -> tuple[Benchmark, dict[str, Any]]:
    """Return one of several parts of a benchmark, and the field SHARD of its card.

    All questions about a video are in one part, since they share the preparation of the video.

    Args:
        cases: The whole benchmark.
        number: The number of the part, from 1.
        of: The number of parts.

    Raises:
        InputError: There is no part of this number, or it has no question.
    """
    if not 1 <= number <= of:
        raise InputError(f"A shard is one of {of}, from 1 to {of}; got {number}.")
    part_of = dict[str, int]()  # videos are dealt to the parts in turn
    places = list[int]()
    for place, case in enumerate(cases):
        if part_of.setdefault(case.video, len(part_of) % of) == number - 1:
            places.append(place)
    if not places:
        raise InputError(
            f"Shard {number} of {of} has no question, because there are only {len(part_of)} "
            "videos: take fewer shards."
        )
    part = replace(cases, cases=tuple(cases.cases[place] for place in places))
    return part, {"number": number, "of": of, "places": places, "whole": questions_card(cases)}


def merged(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the table of a whole benchmark, joined from the tables of its shards.

    Args:
        tables: The tables of all shards, by the names of their files.

    Raises:
        InputError: A table is not that of a shard, a shard is missing or occurs twice, or two
            shards were evaluated with different settings.
    """
    by_number: dict[int, str] = {}
    for name, table in tables.items():
        part = table.attrs.get(SHARD)
        if not isinstance(part, Mapping):
            raise InputError(f"{name} is not the table of a shard: it was made without --shard.")
        if part["number"] in by_number:
            raise InputError(
                f"{by_number[part['number']]} and {name} are both shard {part['number']}."
            )
        by_number[part["number"]] = name
    first = next(iter(tables))
    count = tables[first].attrs[SHARD]["of"]
    for name, table in tables.items():
        if table.attrs[SHARD]["of"] != count:
            raise InputError(
                f"{first} is one of {count} shards and {name} one of {table.attrs[SHARD]['of']}: "
                "join tables that have the same N in --shard I/N."
            )
    missing = sorted(set(range(1, count + 1)) - by_number.keys())
    if missing:
        raise InputError(f"Of {count} shards, these are missing: {', '.join(map(str, missing))}.")
    for name, table in tables.items():
        _check_alike(first, tables[first].attrs, name, table.attrs, "Run one of them again.")
    rows = []
    for table in tables.values():
        methods = list(dict.fromkeys(table["method"]))
        places = table.attrs[SHARD]["places"] * len(methods)  # all questions for each method
        rows.append(table.assign(_method=table["method"].map(methods.index), _place=places))
    order = ["_method", "_place"]
    whole = _concatenated(rows).sort_values(order, kind="stable").drop(columns=order)
    cards = [tables[by_number[number]].attrs for number in sorted(by_number)]
    whole.attrs = _joined_cards(cards, cards[0][SHARD]["whole"])
    return whole.reset_index(drop=True)


def _joined_cards(cards: Sequence[Mapping[str, Any]], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the card of a whole table, joined from the cards of its shards."""
    common = dict(cards[0])
    common.pop(SHARD, None)
    common.pop(OF_THE_RUN, None)
    reruns = list[Any]()
    for card in cards:
        reruns += card.get("asked again", ())
    if reruns:
        common["asked again"] = reruns
    if "methods" in common:
        methods = dict[str, Any]()
        for name in common["methods"]:
            methods[name] = _joined_cards([card["methods"][name] for card in cards], asked)
        return {**common, "methods": methods}
    models = set[str]()
    for card in cards:
        models.update(card["models"])
    return {
        **common,
        "models": sorted(models),
        "asked": asked,
        "settings in full": common_settings(card["settings in full"] for card in cards),
        "runs": [card[OF_THE_RUN] for card in cards],
    }


def _alike(card: Mapping[str, Any], asked: Any = None) -> dict[str, Any]:
    """Return the part of a card that must be the same for all shards of a table."""
    if SHARD in card:
        asked = card[SHARD]["whole"]
    if "methods" in card:
        return {name: _alike(each, asked) for name, each in card["methods"].items()}
    common = dict(card)
    for name in (SHARD, OF_THE_RUN, "settings in full", "command", "asked again"):
        common.pop(name, None)
    models = set[str]()
    for model in card["models"]:
        is_oracle = model.startswith("oracle:")  # its name differs from world to world
        models.add("oracle" if is_oracle else model)
    return {
        **common,
        "models": sorted(models),
        "asked": asked,
        "prompts": card[OF_THE_RUN]["prompts"],
    }


def _check_alike(
    one: str, card: Mapping[str, Any], other: str, card_of_other: Mapping[str, Any], cure: str
) -> None:
    """Raise InputError if two tables were made with different settings.

    Args:
        one: The name of the first table, for the message.
        card: Its card.
        other: The name of the second table.
        card_of_other: Its card.
        cure: The end of the message: what to do.
    """
    for setting, first, second in differences(_alike(card), _alike(card_of_other)):
        values = f"{printable(str(first), 80)} and {printable(str(second), 80)}"
        raise InputError(
            f"{one} and {other} have different settings: {setting} is {values}. {cure}"
        )


def with_retried(earlier: pd.DataFrame, again: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a table in which the rows of questions that failed are replaced by new ones.

    Args:
        earlier: The table.
        again: The new rows, by method.

    Raises:
        InputError: The table has no card, or the new rows have other settings.
    """
    if not earlier.attrs:
        raise InputError(
            "The table has no card, so its settings are not known: write another table."
        )
    cards = earlier.attrs.get("methods", {})
    for method, rows in again.items():
        cure = "Repeat the table's settings with --like and its card, or write another table."
        _check_alike("The table", cards.get(method, earlier.attrs), "this line", rows.attrs, cure)
    table = replaced(earlier, again)
    table.attrs = {
        **earlier.attrs,
        "asked again": [
            *earlier.attrs.get("asked again", ()),
            *(rows.attrs[OF_THE_RUN] for rows in again.values()),
        ],
    }
    return table


def replaced(earlier: pd.DataFrame, again: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a table in which new rows, by method, replace the rows of the same questions."""
    import pandas as pd

    rows = _concatenated([*again.values(), earlier])
    latest = rows.drop_duplicates(QUESTION).set_index(QUESTION, drop=False)
    return latest.loc[pd.MultiIndex.from_frame(earlier[QUESTION])].reset_index(drop=True)


def failed(table: pd.DataFrame, cases: Sequence[Any], method: str) -> list[Any]:
    """Return the cases whose question failed with a method, in the order of `cases`."""
    rows = table[(table["method"] == method) & (table["failure"] != "")]
    names = set(zip(rows["id"], rows["video"], strict=True))
    return [case for case in cases if (case.question.id, case.video) in names]
