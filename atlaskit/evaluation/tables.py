"""An evaluation on disk: its rows as Parquet or CSV with the settings beside them, and in lmms-eval's form.

The settings are in a file of their own, so that a table never parts from what made it: `rows.csv` has `rows.csv.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlaskit.agents.baselines import METHODS
from atlaskit.benchmarks.case import Case
from atlaskit.caching.keys import canonical_json
from atlaskit.errors import InputError, reason

if TYPE_CHECKING:
    import pandas as pd

METHOD_ORDER = tuple(METHODS)
"""The methods in the order in which tables and figures show them."""


def save(rows: pd.DataFrame, path: str | Path) -> None:
    """Write the rows of an evaluation to a `.csv` or `.parquet` file, and its settings beside it.

    Raises InputError for another suffix, and where the file cannot be written.
    """
    target = check_path(path)
    told = rows.assign(prediction=rows["prediction"].map(canonical_json))  # an index, an interval or words
    with _writing(target):
        if target.suffix == ".csv":
            told.to_csv(target, index=False)
        else:
            told.to_parquet(target, index=False)
        target.with_name(f"{target.name}.json").write_text(json.dumps(rows.attrs, indent=1) + "\n", encoding="utf-8")


def save_samples(rows: pd.DataFrame, cases: Iterable[Case], path: str | Path) -> None:
    """Write the rows as lmms-eval's samples, a line of JSON each; raises as `samples` and `save` do."""
    lines = [json.dumps(each, ensure_ascii=False) + "\n" for each in samples(rows, cases)]
    with _writing(Path(path)):
        Path(path).write_text("".join(lines), encoding="utf-8")


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    """Make a file's folder; raise InputError where that or what is done in this block fails."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise InputError(f"{target} cannot be written: {reason(error)}.") from error


def check_path(path: str | Path) -> Path:
    """Raise InputError for a file that no table can be written to, which is better known before the questions are."""
    target = Path(path)
    if target.suffix not in (".csv", ".parquet"):
        raise InputError(f"{target} should end in .csv or .parquet.")
    return target


def load(path: str | Path) -> pd.DataFrame:
    """Read what `save` wrote, with the settings in `attrs`; raise InputError for what it did not write."""
    import pandas as pd

    source = Path(path)
    try:
        if source.suffix == ".csv":
            rows = pd.read_csv(source, keep_default_na=False, dtype={"prediction": str})
        else:
            rows = pd.read_parquet(source)
        rows.attrs = json.loads(source.with_name(f"{source.name}.json").read_text(encoding="utf-8"))
        predictions = [json.loads(each) for each in rows["prediction"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{source} is no evaluation that was saved here: {reason(error)}.") from error
    return rows.assign(prediction=column([tuple(each) if isinstance(each, list) else each for each in predictions]))


def column(predictions: list[Any]) -> Any:
    """Return predictions as a column: where one is None, pandas would make NaN of it, and fractions of indices."""
    import pandas as pd

    return pd.Series(predictions, dtype=object) if None in predictions else predictions


def samples(rows: pd.DataFrame, cases: Iterable[Case]) -> list[dict[str, Any]]:
    """Return the rows as lmms-eval's samples, one an object: `doc_id`, `doc`, `target`, `resps`, `filtered_resps` and
    the metric `score`. Raises InputError where the cases are not those of the rows."""
    asked = list(cases)
    if [case.question.id for case in asked] != rows["id"].tolist():
        raise InputError("These are not the questions of these rows, in their order.")
    found = []
    for number, (case, (_, row)) in enumerate(zip(asked, rows.iterrows(), strict=True)):
        question = case.question
        assert question.answer is not None
        answered = "" if row["prediction"] is None else question.in_words(row["prediction"])
        found.append(
            {
                "doc_id": number,
                "doc": {**question.to_json(), "video": case.video},
                "target": question.in_words(question.answer),
                "resps": [[answered]],
                "filtered_resps": [answered],
                "score": float(row["score"]),
            }
        )
    return found
