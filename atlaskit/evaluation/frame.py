"""`EvaluationRows`: the table that `evaluate` returns, which can be saved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from atlaskit.evaluation.saving import save


class EvaluationRows(pd.DataFrame):  # type: ignore[misc]
    """A DataFrame with one row a question, and the settings card in `attrs`.

    Examples:
        >>> rows.save("rows.csv")
        >>> ak.read_rows("rows.csv")["score"].tolist() == rows["score"].tolist()
        True
    """

    @property
    def _constructor(self) -> type[EvaluationRows]:
        return EvaluationRows

    def save(self, path: str | Path) -> None:
        """Write the table to a `.csv` or `.parquet` file, and its settings card beside it.

        Raises:
            InputError: The file has another suffix or cannot be written.
        """
        save(self, path)

    def with_card(self, card: Mapping[str, Any]) -> EvaluationRows:
        """Set the settings card of this table, and return the table."""
        self.attrs = dict(card)
        return self
