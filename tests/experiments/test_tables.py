"""CSV files as tables that fit a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from atlaskit.experiments.tables import COLUMNS, ROWS, number, table_html


def shown(tmp_path: Path, text: str) -> str:
    path = tmp_path / "09_a b.csv"
    path.write_text(text, encoding="utf-8")
    return table_html(path)


@pytest.mark.parametrize(
    ("text", "rounded"),
    [
        ("0.123456", "0.123"),
        ("999.96", "1,000"),
        ("1234.56", "1,235"),
        ("-0.07", "−0.07"),
        ("36000.0", "36,000"),
        ("2000000", "2,000,000"),
        ("1e-05", "1e−05"),
        ("nan", "nan"),
        ("1.2.3", "1.2.3"),
    ],
)
def test_numbers_have_three_digits(text: str, rounded: str) -> None:
    assert number(text) == rounded


def test_an_interval_stands_beside_its_mean_and_a_duration_has_a_unit(tmp_path: Path) -> None:
    html = shown(tmp_path, "method,duration_s,latency_s,mean,low,high\ncaptions,36000.0,0.25,0.8333,0.75,-0.5\n")
    assert re.findall(r"<th[^>]*>(.*?)</th>", html) == ["method", "duration", "latency (s)", "mean (95 %)"]
    assert re.findall(r"<td[^>]*>(.*?)</td>", html) == ["captions", "10 h", "0.25", "0.833 (0.75 to −0.5)"]
    assert 'href="09_a%20b.csv"' in html


def test_a_table_that_is_too_large_says_what_is_only_in_the_file(tmp_path: Path) -> None:
    head = ["seed", "mean", "low", "high", "questions", *(f"c{n}" for n in range(12))]
    rows = [[str(n), "1.0", "0.5", "1.0", "60", *(str(n + c) for c in range(12))] for n in range(ROWS + 7)]
    html = shown(tmp_path, "\n".join(",".join(row) for row in [head, *rows]))
    assert html.count("<tr>") == ROWS + 1 and html.count("<th") == COLUMNS
    assert "in all rows: questions 60" in html and "4 more columns in the file" in html
    assert "7 more rows in the file" in html and "mean (95 %)" in html, "a result stays, even if it is always the same"


def test_text_is_escaped_cut_and_wraps(tmp_path: Path) -> None:
    html = shown(tmp_path, f"name,b\n<script>alert(1)</script>,{'x' * 200}\n\x1b[31m\u202e,1\n")
    assert "<script" not in html and "\x1b" not in html and "\u202e" not in html
    assert "x" * 20 + "<wbr>" in html and "…" in html and html.count("x") < 200
