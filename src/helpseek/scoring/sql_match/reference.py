"""The reference harness's rule (HiL-Bench release, `calculate_sql_pass_at_1.py`), reproduced to compare grades.

A column is text when a value starts with a zero and a digit, numbers when every value reads as one, text otherwise. A
row is the multiset of its cells with numbers rounded to a multiple of 0.01, so neither the order of rows nor that of
columns counts. Extra predicted columns are allowed, and so is dropping duplicate rows on either side. Its crashes
(two columns of one name, numbers beyond what it can round) grade a prediction as wrong.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from helpseek.environments.sql_guard import SqlValue
from helpseek.scoring.sql_match.verdict import ResultTable, Row, Verdict

BUCKET = 0.01
LEADING_ZERO = re.compile(r"0\d")

Cell = float | str | None
Cells = tuple[Cell, ...]


def reference_match(gold: ResultTable, predicted: ResultTable) -> Verdict:
    """Compare two results by the reference's rule. NULL and the text `None` differ, as with its pinned pandas 3."""
    if any(len(set(table.columns)) < len(table.columns) for table in (gold, predicted)):
        return Verdict(False, "the reference fails on two columns of one name")
    if len(predicted.columns) < len(gold.columns):
        return Verdict(False, "a column is missing")
    mine, theirs = _normalised(gold), _normalised(predicted)
    same_width = len(gold.columns) == len(predicted.columns)
    try:
        for left in (mine, list(dict.fromkeys(mine))):
            for right in (theirs, list(dict.fromkeys(theirs))):
                if len(left) == len(right) and _covers(left, right, same_width=same_width):
                    return Verdict(True, "rows agree under the reference rule")
    except OverflowError:
        return Verdict(False, "the reference fails on infinities")
    return Verdict(False, "rows differ under the reference rule")


def _normalised(table: ResultTable) -> list[Cells]:
    columns = [_normalised_column(column) for column in zip(*table.rows, strict=True)]
    return list(zip(*columns, strict=True))


def _normalised_column(column: Row) -> list[Cell]:
    values = [None if isinstance(value, float) and math.isnan(value) else value for value in column]
    texts = [None if value is None else _text(value) for value in values]
    if any(text is not None and LEADING_ZERO.match(text) for text in texts):
        return list(texts)
    numbers = [_number(value) for value in values]
    if numbers.count(None) == values.count(None):
        return list(numbers)
    return list(texts)


def _text(value: SqlValue) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _number(value: SqlValue) -> float | None:
    """`value` read as a number, or None; Python alone would take `1_000` and `nan` for numbers too."""
    if value is None or isinstance(value, bytes) or (isinstance(value, str) and "_" in value):
        return None
    try:
        number = value if isinstance(value, int) else float(value)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _bucketed(row: Cells) -> Counter[Cell]:
    """Cells of one row, counted. Raises `OverflowError` on an infinity, as the reference does."""
    return Counter(cell if cell is None or isinstance(cell, str) else round(cell / BUCKET) * BUCKET for cell in row)


def _covers(gold: Sequence[Cells], predicted: Sequence[Cells], *, same_width: bool) -> bool:
    """Whether the rows are the same multiset, or each gold row lies in a predicted row of its own, taken greedily."""
    left, right = [_bucketed(row) for row in gold], [_bucketed(row) for row in predicted]
    if same_width:
        return Counter(frozenset(row.items()) for row in left) == Counter(frozenset(row.items()) for row in right)
    holders: defaultdict[Cell, list[int]] = defaultdict(list)
    for n in range(len(right) - 1, -1, -1):
        for cell in right[n]:
            holders[cell].append(n)
    used = [False] * len(right)
    for row in left:
        found = _first_superset(row, right, used, holders)
        if found is None:
            return False
        used[found] = True
    return True


def _first_superset(
    row: Counter[Cell], predicted: Sequence[Counter[Cell]], used: list[bool], holders: dict[Cell, list[int]]
) -> int | None:
    """The first unused predicted row that holds every cell of `row`; only rows that hold its rarest cell are tried."""
    rarest = min((holders.get(cell, []) for cell in row), key=len)
    while rarest and used[rarest[-1]]:
        rarest.pop()
    return next((n for n in reversed(rarest) if not used[n] and row <= predicted[n]), None)
