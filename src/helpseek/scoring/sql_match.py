"""Do two query results agree? Our strict rule, and the reference harness's rule for comparison.

Strict: the same multiset of rows under one permutation of columns; names free; order counts when the task says so.
Numbers agree within 1e-6 relative or 1e-9 absolute (integers exactly), NULL only with NULL, text only with equal text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from helpseek.environments.sql_guard import SqlValue

BUCKETED_BELOW = 1e300
RELATIVE = 1e-6
ABSOLUTE = 1e-9
# Past this many tried pairings of look-alike columns two tables count as different.
MAX_PAIRINGS = 2_000
# Past this many rows that differ by noise, only sorted neighbours are compared.
MAX_NEAR_TIES = 500

Row = Sequence[SqlValue]


class ResultTable(Protocol):
    """A query's result: names and rows."""

    @property
    def columns(self) -> Sequence[str]: ...
    @property
    def rows(self) -> Sequence[Row]: ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the results agree, and why not."""

    equal: bool
    reason: str


def match(gold: ResultTable, predicted: ResultTable, *, ordered: bool) -> Verdict:
    """Compare two results strictly; `ordered` makes the sequence of rows count."""
    if len(gold.columns) != len(predicted.columns):
        return Verdict(False, f"{len(predicted.columns)} columns instead of {len(gold.columns)}")
    if len(gold.rows) != len(predicted.rows):
        return Verdict(False, f"{len(predicted.rows)} rows instead of {len(gold.rows)}")
    if not gold.rows:
        return Verdict(True, "both empty")
    gold_columns, predicted_columns = list(zip(*gold.rows, strict=True)), list(zip(*predicted.rows, strict=True))
    candidates = [
        [n for n, column in enumerate(predicted_columns) if _columns_agree(mine, column, ordered=ordered)]
        for mine in gold_columns
    ]
    if not all(candidates):
        return Verdict(False, f"no column holds the values of `{gold.columns[candidates.index([])]}`")
    if _pair_columns(gold_columns, predicted_columns, candidates, ordered=ordered):
        return Verdict(True, "rows agree in order" if ordered else "rows agree")
    return Verdict(False, "the columns agree one by one, the rows do not")


def _columns_agree(gold: Row, predicted: Row, *, ordered: bool) -> bool:
    if ordered:
        return all(values_agree(a, b) for a, b in zip(gold, predicted, strict=True))
    return all(values_agree(a, b) for a, b in zip(sorted(gold, key=_rank), sorted(predicted, key=_rank), strict=True))


def _pair_columns(gold: Sequence[Row], predicted: Sequence[Row], candidates: list[list[int]], *, ordered: bool) -> bool:
    """Give each gold column a predicted column of its own so that rows agree.

    Rows are compared over the columns paired so far, so look-alike columns are refused early, not in every combination.
    """
    order = sorted(range(len(gold)), key=lambda n: len(candidates[n]))
    chosen: list[int] = []
    budget = MAX_PAIRINGS

    def extend(depth: int) -> bool:
        nonlocal budget
        if depth == len(order):
            return True
        tried: set[Row] = set()
        for n in candidates[order[depth]]:
            if n in chosen or predicted[n] in tried:
                continue
            tried.add(predicted[n])
            budget -= 1
            if budget < 0:
                return False
            chosen.append(n)
            # Columns without a choice are cheap to check once, at the end.
            if len(candidates[order[depth]]) == 1 and depth < len(order) - 1:
                if extend(depth + 1):
                    return True
                chosen.pop()
                continue
            mine = list(zip(*(gold[m] for m in order[: depth + 1]), strict=True))
            theirs = list(zip(*(predicted[m] for m in chosen), strict=True))
            # In order, columns that agree cell by cell already make rows that agree.
            if (ordered or _rows_agree(mine, theirs)) and extend(depth + 1):
                return True
            chosen.pop()
        return False

    return extend(0)


def _rows_agree(gold: Sequence[Row], predicted: Sequence[Row]) -> bool:
    """Multisets of rows agree: equal rows cancel first, the rest pair up within tolerance."""
    left, right = Counter(map(tuple, gold)), Counter(map(tuple, predicted))
    if left == right:
        return True
    rest, others = list((left - right).elements()), list((right - left).elements())
    return _pair_up(sorted(rest, key=_row_rank), sorted(others, key=_row_rank))


def _pair_up(rows: list[Row], others: list[Row]) -> bool:
    """A perfect pairing of rows that agree. Sorted neighbours agree but for near-ties, which augmenting paths solve."""
    if all(map(_row_agrees, rows, others)):
        return True
    if len(rows) > MAX_NEAR_TIES:
        return False
    partner: dict[int, int] = {}

    def place(row: int, visited: set[int]) -> bool:
        for n, other in enumerate(others):
            if n not in visited and _row_agrees(rows[row], other):
                visited.add(n)
                if n not in partner or place(partner[n], visited):
                    partner[n] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(rows)))


def _row_agrees(a: Row, b: Row) -> bool:
    return all(map(values_agree, a, b))


def values_agree(a: SqlValue, b: SqlValue) -> bool:
    """Whether two cells hold the same value."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    if isinstance(a, int | float) and isinstance(b, int | float):
        if not (math.isfinite(a) and math.isfinite(b)):
            return a == b or (math.isnan(a) and math.isnan(b))
        return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return type(a) is type(b) and a == b


def _rank(value: SqlValue) -> tuple[int, float, str | bytes]:
    """A total order of cells: NULL, numbers, text, blobs."""
    if value is None:
        return 0, 0.0, ""
    if isinstance(value, int | float):
        return 1, value if value == value else -math.inf, ""  # noqa: PLR0124 - nan differs from itself
    return (2, 0.0, value) if isinstance(value, str) else (3, 0.0, value)


def _row_rank(row: Row) -> list[tuple[int, float, str | bytes]]:
    return [_rank(value) for value in row]


def reference_match(gold: ResultTable, predicted: ResultTable) -> Verdict:
    """The authors' rule: cells bucketed to 0.01, rows as multisets of cells, duplicates and extra columns free.

    Results their code cannot process (two columns of one name, infinities) count as wrong, as they do there.
    """
    if len(set(predicted.columns)) < len(predicted.columns):
        return Verdict(False, "the reference fails on two columns of one name")
    if any(isinstance(cell, float) and math.isinf(cell) for row in (*gold.rows, *predicted.rows) for cell in row):
        return Verdict(False, "the reference fails on infinities")
    if len(predicted.columns) < len(gold.columns):
        return Verdict(False, "a column is missing")
    left, right = _bucketed(gold), _bucketed(predicted)
    variants = [(g, p) for g in (left, list(dict.fromkeys(left))) for p in (right, list(dict.fromkeys(right)))]
    equal = any(_covers(g, p, exact=len(gold.columns) == len(predicted.columns)) for g, p in variants)
    return Verdict(equal, "reference rule")


def _bucketed(table: ResultTable) -> list[tuple[str, ...]]:
    """Rows as sorted cells after the reference's normalisation of each column."""
    columns = [_bucketed_column(column) for column in zip(*table.rows, strict=True)]
    return [tuple(sorted(row)) for row in zip(*columns, strict=True)] if columns else []


def _bucketed_column(column: Row) -> list[str]:
    texts = ["" if value is None else str(value) for value in column]
    numbers = None if any(text[:1] == "0" and text[1:2].isdigit() for text in texts) else _numbers(column)
    if numbers is None:
        return ["NULL" if value is None else f"text:{value}" for value in column]
    return ["NULL" if number is None else f"number:{round(number / 0.01) * 0.01:.2f}" for number in numbers]


def _numbers(column: Row) -> list[float | None] | None:
    """The column as numbers, or None when a cell is not a finite one."""
    numbers: list[float | None] = []
    for value in column:
        try:
            number = None if value is None else float(value)
        except (ValueError, OverflowError):
            return None
        if number is not None and not abs(number) < BUCKETED_BELOW:
            return None
        numbers.append(number)
    return numbers


def _covers(gold: list[tuple[str, ...]], predicted: list[tuple[str, ...]], *, exact: bool) -> bool:
    """Each gold row is in one predicted row of its own, found greedily; `exact` when widths are equal."""
    if len(gold) != len(predicted):
        return False
    if exact:
        return Counter(gold) == Counter(predicted)
    rest = [Counter(row) for row in predicted]
    for row in gold:
        wanted = Counter(row)
        found = next((n for n, cells in enumerate(rest) if not wanted - cells), None)
        if found is None:
            return False
        del rest[found]
    return True
