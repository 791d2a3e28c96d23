"""Evaluation tables on disk: Parquet or CSV with the settings beside them.

The settings are in a file of their own next to the table, `rows.csv.json` for `rows.csv`, so that a
table stays with the settings that produced it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlaskit import limits
from atlaskit.benchmarks.datasets.lines import read_parquet
from atlaskit.caching.files import write_whole
from atlaskit.caching.keys import canonical_json, read_json
from atlaskit.environment.question import as_answered
from atlaskit.errors import InputError, reason
from atlaskit.evaluation.baselines import METHODS
from atlaskit.evaluation.card import card_text

if TYPE_CHECKING:
    import pandas as pd

METHOD_ORDER = tuple(METHODS)
"""The methods in the order in which tables and figures show them."""
TEXT = "columns of text"
"""Where the settings name the columns that hold text: a CSV does not tell "007" from 7."""


def save(rows: pd.DataFrame, path: str | Path) -> None:
    """Write a table of `evaluate` to a `.csv` or `.parquet` file, and its settings card beside it.

    The card is `rows.csv.json`, and in words `rows.csv.txt`. Rows so far of this table are removed.

    Raises:
        InputError: If the file has another suffix or cannot be written.
    """
    target = check_path(path)
    plain = rows.assign(prediction=rows["prediction"].map(canonical_json))  # an index, a pair, pairs or text
    texts = [name for name in plain if plain[name].map(lambda value: isinstance(value, str)).any()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, plain.to_csv(index=False) if target.suffix == ".csv" else plain.to_parquet(index=False))
        card = json.dumps({**rows.attrs, TEXT: texts}, indent=1, ensure_ascii=False)
        write_whole(target.with_name(f"{target.name}.json"), card + "\n")
        write_whole(target.with_name(f"{target.name}.txt"), card_text(rows.attrs) + "\n")
        partial = so_far(target)
        for suffix in ("", ".json", ".txt"):
            partial.with_name(f"{partial.name}{suffix}").unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {reason(error)}.") from error


def so_far(path: str | Path) -> Path:
    """Return where the rows so far are of an evaluation whose table will be `path`.

    An earlier, whole table stays until all questions are finished.
    """
    target = Path(path)
    return target.with_stem(f"{target.stem}.so-far")


def newest(path: str | Path) -> tuple[Path, int]:
    """Return the table at `path`, or its rows so far if they are newer, and when it was written.

    Returns:
        A path, which may not exist, and nanoseconds since 1970, 0 if it does not.
    """
    written = dict[Path, int]()
    for each in (Path(path), so_far(path)):
        try:  # of the card, since it is written after the table
            written[each] = each.with_name(f"{each.name}.json").stat().st_mtime_ns
        except OSError:
            written[each] = 0
    return max(written.items(), key=lambda item: item[1])


def check_path(path: str | Path) -> Path:
    """Return the path of a table, checked; call it before the questions are asked.

    Raises:
        InputError: If the suffix is neither `.csv` nor `.parquet`.
    """
    target = Path(path)
    if target.suffix not in (".csv", ".parquet"):
        raise InputError(f"The file name of a table must end in .csv or .parquet; got {target}.")
    return target


def load(path: str | Path) -> pd.DataFrame:
    """Read a table that `save` wrote, with its settings in `attrs`.

    Raises:
        InputError: If `save` did not write the file, or it cannot be read.
    """
    import pandas as pd

    source = Path(path)
    try:
        card = read_json(source.with_name(f"{source.name}.json").read_bytes())
        if not isinstance(card, dict) or TEXT not in card:
            raise ValueError(f"{source.name}.json is no card of a table")
        texts = dict.fromkeys(card.pop(TEXT), str)
        if source.suffix == ".csv":
            with source.open("rb") as file:
                if any(line.count(b",") > limits.COMMAS for line in file):
                    raise ValueError(f"a line has more than {limits.COMMAS:,} commas")
            na = {name: [""] for name in pd.read_csv(source, nrows=0).columns if name not in texts}
            rows = pd.read_csv(source, dtype=texts, nrows=limits.TABLE_ROWS + 1, keep_default_na=False, na_values=na)
        else:
            rows = read_parquet(source).to_pandas()
        if len(rows) > limits.TABLE_ROWS:
            raise ValueError(f"it has more than {limits.TABLE_ROWS:,} rows")
        rows.attrs = card
        predictions = read_json(f"[{','.join(rows['prediction'].astype(str))}]")
        if len(predictions) != len(rows):
            raise ValueError("a prediction is more than one value")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{source} is not a saved evaluation: {reason(error)}.") from error
    return rows.assign(prediction=prediction_column([as_answered(value) for value in predictions]))


def joined(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of several tables of `evaluate` as one table.

    Args:
        tables: The tables, by the name of their method.

    Returns:
        The only table; or all rows in the order of the tables, with the `attrs` of each under
        `methods`.
    """
    import pandas as pd

    if len(tables) == 1:
        return next(iter(tables.values()))
    rows = pd.concat([table.assign(prediction=table["prediction"].astype(object)) for table in tables.values()])
    rows.attrs = {"methods": {name: table.attrs for name, table in tables.items()}}
    return rows.reset_index(drop=True)


def prediction_column(predictions: list[Any]) -> Any:
    """Return predictions as a column that keeps None and integers as they are.

    pandas would otherwise turn None into NaN, and the indices beside it into floats.
    """
    import pandas as pd

    return pd.Series(predictions, dtype=object) if None in predictions else predictions
