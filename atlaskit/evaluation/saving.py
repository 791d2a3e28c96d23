"""`save` writes a table, and its settings card beside it.

`so_far` is the path of an unfinished table. The module `tables`, which reads tables, is apart: the
tables that it returns call `save`, so it imports this module.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlaskit.benchmarks.datasets.rows import is_missing
from atlaskit.caching.files import read_whole, write_whole
from atlaskit.caching.keys import canonical_json, read_json
from atlaskit.errors import InputError, printable, reason
from atlaskit.evaluation.card import OF_THE_RUN, TEXT, card_text, checked_card

if TYPE_CHECKING:
    import pandas as pd


def save(rows: pd.DataFrame, path: str | Path) -> None:
    """Write a table of `evaluate` to a `.csv` or `.parquet` file, and its settings card beside it.

    The card of `rows.csv` is `rows.csv.json`, and as text `rows.csv.txt`. Unfinished rows of this
    table, which an interrupted evaluation left at `so_far(path)`, are removed.

    Raises:
        InputError: If the file has another suffix or cannot be written, or a prediction has no
            JSON, such as an infinite number.
    """
    target = check_path(path)
    plain = rows.assign(prediction=prediction_texts(rows, rows["prediction"]))
    text_columns = list[str]()
    for name in plain:
        if plain[name].map(lambda value: isinstance(value, str)).any():
            text_columns.append(name)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix == ".csv":
            write_whole(target, plain.to_csv(index=False))
        else:
            write_whole(target, plain.to_parquet(index=False))
        settings = _with_servers(rows.attrs, target)
        card = json.dumps({**settings, TEXT: text_columns}, indent=1, ensure_ascii=False)
        write_whole(target.with_name(f"{target.name}.json"), card + "\n")
        write_whole(target.with_name(f"{target.name}.txt"), card_text(settings) + "\n")
        unfinished = so_far(target)
        for suffix in ("", ".json", ".txt"):
            unfinished.with_name(f"{unfinished.name}{suffix}").unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {reason(error)}.") from error


def prediction_texts(rows: pd.DataFrame, predictions: Iterable[Any]) -> list[str]:
    """Return predictions as JSON, because they are indices, numbers, intervals, texts or null.

    Args:
        rows: The rows of the predictions.
        predictions: The prediction of each row.

    Raises:
        InputError: A prediction has no JSON; the message names the row and the value.
    """
    texts = list[str]()
    for name, prediction in zip(rows.get("id", rows.index), predictions, strict=True):
        value = None if is_missing(prediction) else prediction
        try:
            texts.append(canonical_json(value))
        except (TypeError, ValueError) as error:
            raise InputError(
                "A prediction is a finite number, a text or intervals of seconds; that of the row "
                f"{printable(str(name), 80)!r} is {prediction!r:.80}: correct it, or leave it "
                "empty."
            ) from error
    return texts


def _with_servers(card: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return a card with the servers that answered, even if the cache gave all answers this time.

    They are then taken from the card of the table that is replaced, if that table has the same
    models, questions and parameters.
    """
    run = card.get(OF_THE_RUN)
    if not isinstance(run, Mapping) or run.get("servers"):
        return dict(card)
    try:
        before = checked_card(read_json(read_whole(path.with_name(f"{path.name}.json"))))
    except (OSError, ValueError):
        return dict(card)
    if any(before.get(name) != card.get(name) for name in ("models", "asked", "parameters")):
        return dict(card)
    servers = (before.get(OF_THE_RUN) or {}).get("servers")
    if not servers:
        return dict(card)
    return {**card, OF_THE_RUN: {**run, "servers": servers}}


def check_path(path: str | Path) -> Path:
    """Return the path of a table, checked; call it before the questions are asked.

    Raises:
        InputError: If the suffix is neither `.csv` nor `.parquet`.
    """
    target = Path(path)
    if target.suffix not in (".csv", ".parquet"):
        raise InputError(f"The file name of a table must end in .csv or .parquet; got {target}.")
    return target


def so_far(path: str | Path) -> Path:
    """Return where an unfinished evaluation keeps the rows of the table that `path` will hold.

    An earlier, whole table stays at `path` until all questions are finished.
    """
    target = Path(path)
    return target.with_stem(f"{target.stem}.so-far")
