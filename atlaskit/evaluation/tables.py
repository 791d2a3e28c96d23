"""Evaluation tables on disk: Parquet or CSV with the settings beside them.

The settings are in a file of their own next to the table, `rows.csv.json` for `rows.csv`, so that a
table stays with the settings that produced it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlaskit.caching.files import write_whole
from atlaskit.caching.keys import canonical_json
from atlaskit.errors import InputError, reason
from atlaskit.evaluation.baselines import METHODS

if TYPE_CHECKING:
    import pandas as pd

METHOD_ORDER = tuple(METHODS)
"""The methods in the order in which tables and figures show them."""
TEXT_COLUMNS = ("prediction", "choices", "truth", "answer")
"""Columns of text that a CSV may hold only numbers of, as of counts; earlier tables lack some."""


def save(rows: pd.DataFrame, path: str | Path) -> None:
    """Write a table of `evaluate` to a `.csv` or `.parquet` file, and its settings beside it.

    Raises:
        InputError: If the file has another suffix or cannot be written.
    """
    target = check_path(path)
    plain = rows.assign(prediction=rows["prediction"].map(canonical_json))  # an index, a pair, pairs or text
    with _writing(target):
        write_whole(target, plain.to_csv(index=False) if target.suffix == ".csv" else plain.to_parquet(index=False))
        write_whole(target.with_name(f"{target.name}.json"), json.dumps(rows.attrs, indent=1) + "\n")


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    """Create the folder of a file; turn an OSError of the block into an InputError."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise InputError(f"{target} cannot be written: {reason(error)}.") from error


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
        if source.suffix == ".csv":
            rows = pd.read_csv(source, keep_default_na=False, dtype=dict.fromkeys(TEXT_COLUMNS, str))
        else:
            rows = pd.read_parquet(source)
        rows.attrs = json.loads(source.with_name(f"{source.name}.json").read_text(encoding="utf-8"))
        predictions = [json.loads(text) for text in rows["prediction"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{source} is not a saved evaluation: {reason(error)}.") from error
    return rows.assign(prediction=prediction_column([_as_answered(value) for value in predictions]))


def _as_answered(value: Any) -> Any:
    """Return a prediction as it was before JSON made lists of its interval or intervals."""
    if not isinstance(value, list):
        return value
    return tuple(tuple(span) if isinstance(span, list) else span for span in value)


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
