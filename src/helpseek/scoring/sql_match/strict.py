"""The strict rule: the same multiset of rows under one permutation of columns.

Column names are free, an extra column is a mismatch, and the sequence of rows counts when the task says so. Numbers
agree within 1e-6 relative or 1e-9 absolute, integers with integers only exactly; NULL agrees only with NULL, text only
with equal text, never with a number. Near-ties are matched, not bucketed: rows agree when some one-to-one pairing does.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import numpy as np

from helpseek.environments.sql_guard import SqlValue
from helpseek.scoring.sql_match.verdict import ResultTable, Row, Verdict

RELATIVE = 1e-6
ABSOLUTE = 1e-9
# One object for every NaN of a table, so that counting and hashing take them for the same value.
NAN = math.nan
# Bounds of the search, past which results count as different with a reason that says so. They are far above what a
# real query needs: look-alike columns are tried in the order a right query gives them.
MAX_PAIRED_CELLS = 5_000_000
MAX_NEAR_TIES = 2_000_000


class _Undecided(Exception):
    """The search met one of its bounds."""


def match(gold: ResultTable, predicted: ResultTable, *, ordered: bool) -> Verdict:
    """Compare two results strictly; `ordered` makes the sequence of rows count."""
    if len(gold.columns) != len(predicted.columns):
        return Verdict(False, f"{len(predicted.columns)} columns instead of {len(gold.columns)}")
    if len(gold.rows) != len(predicted.rows):
        return Verdict(False, f"{len(predicted.rows)} rows instead of {len(gold.rows)}")
    if not gold.rows:
        return Verdict(True, "both empty")
    mine, theirs = _columns(gold), _columns(predicted)
    agree = _agree_in_order if ordered else _may_agree
    candidates = [[n for n, other in enumerate(theirs) if agree(column, other)] for column in mine]
    if not all(candidates):
        return Verdict(False, f"no column holds the values of `{gold.columns[candidates.index([])]}`")
    try:
        equal = _assignable(candidates) if ordered else _Pairing(mine, theirs, candidates).exists()
    except _Undecided as bound:
        return Verdict(False, f"undecided: {bound}")
    return Verdict(equal, "rows agree" if equal else "the columns agree one by one, the rows do not")


def values_agree(a: SqlValue, b: SqlValue) -> bool:
    """Whether two cells hold the same value."""
    if _is_number(a) and _is_number(b):
        return a == b if isinstance(a, int) and isinstance(b, int) else _close(a, b)
    return type(a) is type(b) and (a == b or (_is_nan(a) and _is_nan(b)))


def _is_nan(value: SqlValue) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_number(value: SqlValue) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not _is_nan(value)


def _close(a: float, b: float) -> bool:
    """Within tolerance. Between sorted numbers it is monotone: what lies between two close ones is close to both."""
    return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


@dataclass(frozen=True, slots=True)
class _Column:
    """One column: its cells in order, its numbers sorted, everything else counted. Every NaN is `NAN`."""

    name: str
    cells: Row
    numbers: list[int | float]
    others: Counter[SqlValue]
    integral: bool


def _columns(table: ResultTable) -> list[_Column]:
    columns = []
    for name, column in zip(table.columns, zip(*table.rows, strict=True), strict=True):
        cells: Row = column
        if any(cell != cell for cell in column):  # noqa: PLR0124 - only NaN differs from itself
            cells = tuple(NAN if cell != cell else cell for cell in column)  # noqa: PLR0124
        # Written out, not by `_is_number`: calls would take half the time of a comparison.
        numbers = sorted(cell for cell in cells if isinstance(cell, int | float) and cell is not NAN)
        others = Counter(cell for cell in cells if not isinstance(cell, int | float) or cell is NAN)
        columns.append(_Column(name, cells, numbers, others, float not in set(map(type, numbers))))
    return columns


def _agree_in_order(gold: _Column, predicted: _Column) -> bool:
    return gold.cells == predicted.cells or all(map(values_agree, gold.cells, predicted.cells))


def _may_agree(gold: _Column, predicted: _Column) -> bool:
    """Necessary for the columns to agree in some order of rows; sorted numbers pair up if any order does."""
    if gold.others != predicted.others or len(gold.numbers) != len(predicted.numbers):
        return False
    if gold.numbers == predicted.numbers:
        return True
    return not (gold.integral and predicted.integral) and all(map(_close, gold.numbers, predicted.numbers))


def _assignable(candidates: Sequence[Iterable[int]]) -> bool:
    """Whether each entry can have one of its candidates for itself (maximum bipartite matching)."""
    # Half a second of import; most processes never grade a result that needs it.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    edges = [list(options) for options in candidates]
    starts = np.cumsum([0, *map(len, edges)])
    ends = np.concatenate([np.asarray(options, dtype=np.int32) for options in edges])
    graph = csr_array((np.ones(len(ends), dtype=bool), ends, starts), shape=(len(edges), len(edges)))
    return bool((maximum_bipartite_matching(graph, perm_type="column") >= 0).all())


@dataclass(frozen=True, slots=True)
class _Coding:
    """Two columns as codes: cells with different codes disagree. Cells of one code agree unless it is `loose`.

    A code of numbers is a run in which each is close to the next; it is loose when its ends are not close, or when two
    different integers are in it.
    """

    gold: list[int]
    predicted: list[int]
    loose: frozenset[int]


def _encode(gold: _Column, predicted: _Column) -> _Coding:
    values = sorted({*gold.numbers, *predicted.numbers})
    exact = gold.integral and predicted.integral
    code_of: dict[SqlValue, int] = {}
    loose = set()
    code, first, last = -1, math.inf, math.inf
    for number in values:
        if code < 0 or exact or not _close(last, number):
            code, first = code + 1, number
        elif not _close(first, number):
            loose.add(code)
        code_of[number] = code
        last = number
    if not exact:
        integers = {number for number in (*gold.numbers, *predicted.numbers) if isinstance(number, int)}
        loose.update(code for code, n in Counter(code_of[number] for number in integers).items() if n > 1)
    for value in (*gold.others, *predicted.others):
        code_of.setdefault(value, len(code_of))
    return _Coding([code_of[c] for c in gold.cells], [code_of[c] for c in predicted.cells], frozenset(loose))


@dataclass
class _Pairing:
    """The search for a predicted column of its own for each gold column so that the rows agree.

    Rows are grouped by the codes of the columns paired so far, and both results must fill each group equally: a wrong
    pairing of look-alike columns is refused at once, not in every combination with the rest.
    """

    gold: list[_Column]
    predicted: list[_Column]
    candidates: list[list[int]]
    codings: dict[tuple[int, int], _Coding] = field(default_factory=dict)

    def exists(self) -> bool:
        """Whether there is one. Raises `_Undecided` at a bound."""
        width, height = len(self.gold), len(self.gold[0].cells)
        self.left = max(20 * width, MAX_PAIRED_CELLS // height)
        self.order = sorted(range(width), key=lambda g: len(self.candidates[g]))
        contents: dict[object, int] = {}
        self.content = [
            contents.setdefault((column.cells, tuple(map(type, column.cells))), n)
            for n, column in enumerate(self.predicted)
        ]
        return self._extend([], [0] * height, [0] * height)

    def _extend(self, chosen: list[int], gold_groups: list[int], predicted_groups: list[int]) -> bool:
        if len(chosen) == len(self.order):
            return self._rows_agree(chosen, gold_groups, predicted_groups)
        g = self.order[len(chosen)]
        tried = set()
        for p in sorted(self.candidates[g], key=lambda p: (self.predicted[p].name != self.gold[g].name, abs(p - g))):
            if p in chosen or self.content[p] in tried:
                continue
            tried.add(self.content[p])
            if self.left == 0:
                raise _Undecided("too many columns look alike")
            self.left -= 1
            coding = self._coding(g, p)
            group_of: dict[tuple[int, int], int] = {}
            mine = _regroup(gold_groups, coding.gold, group_of)
            theirs = _regroup(predicted_groups, coding.predicted, group_of)
            if Counter(mine) == Counter(theirs) and self._extend([*chosen, p], mine, theirs):
                return True
        return False

    def _coding(self, g: int, p: int) -> _Coding:
        if (g, p) not in self.codings:
            self.codings[g, p] = _encode(self.gold[g], self.predicted[p])
        return self.codings[g, p]

    def _rows_agree(self, chosen: list[int], gold_groups: list[int], predicted_groups: list[int]) -> bool:
        """Whether the rows pair up within each group; only groups with a loose code leave that open."""
        pairs = [(g, p, self._coding(g, p)) for g, p in zip(self.order, chosen, strict=True)]
        pairs = [pair for pair in pairs if pair[2].loose]
        if not pairs:
            return True
        mine, theirs = _members(gold_groups), _members(predicted_groups)
        for group, members in mine.items():
            open_pairs = [(g, p) for g, p, coding in pairs if coding.gold[members[0]] in coding.loose]
            rows = [tuple(self.gold[g].cells[n] for g, _ in open_pairs) for n in members]
            others = [tuple(self.predicted[p].cells[n] for _, p in open_pairs) for n in theirs[group]]
            if open_pairs and not _pair_up(rows, others):
                return False
        return True


def _regroup(groups: list[int], codes: list[int], group_of: dict[tuple[int, int], int]) -> list[int]:
    return [group_of.setdefault(key, len(group_of)) for key in zip(groups, codes, strict=True)]


def _members(groups: list[int]) -> dict[int, list[int]]:
    members = defaultdict(list)
    for n, group in enumerate(groups):
        members[group].append(n)
    return members


def _pair_up(rows: list[tuple[Any, ...]], others: list[tuple[Any, ...]]) -> bool:
    """Whether rows of numbers pair up one to one within tolerance: sorted neighbours mostly, else by matching."""
    rows, others = sorted(rows), sorted(others)
    if all(all(map(values_agree, row, other)) for row, other in zip(rows, others, strict=True)):
        return True
    candidates: list[list[int]] = []
    start = edges = 0
    for row in rows:
        while start < len(others) and others[start][0] < row[0] and not _close(others[start][0], row[0]):
            start += 1
        end = start
        while end < len(others) and (others[end][0] <= row[0] or _close(others[end][0], row[0])):
            end += 1
        edges += end - start
        if edges > MAX_NEAR_TIES:
            raise _Undecided("too many rows differ by noise only")
        options = [n for n in range(start, end) if all(map(values_agree, row, others[n]))]
        if not options:
            return False
        candidates.append(options)
    return _assignable(candidates)
