"""When two query results agree."""

import math
import random
import time
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpseek.scoring.sql_match import match, reference_match


@dataclass
class Result:
    columns: tuple
    rows: tuple


def result(*rows, columns=None):
    width = len(rows[0]) if rows else 1
    return Result(tuple(columns or [f"c{n}" for n in range(width)]), tuple(rows))


INF, NAN = math.inf, math.nan

CASES = [
    # name, gold, predicted, strict unordered, strict ordered, reference
    ("the same", result((1, "a")), result((1, "a")), True, True, True),
    ("row order", result((1,), (2,)), result((2,), (1,)), True, False, True),
    ("duplicate rows count", result((1,), (1,), (2,)), result((1,), (2,), (2,)), False, False, True),
    ("a duplicate too many", result((1,), (2,)), result((1,), (2,), (2,)), False, False, True),
    ("column permutation", result((1, "a"), (2, "b")), result(("a", 1), ("b", 2)), True, True, True),
    ("columns permuted per row", result((1, 2), (3, 4)), result((1, 2), (4, 3)), False, False, True),
    ("column names", result((1,), columns=["n"]), result((1,), columns=["count"]), True, True, True),
    (
        "duplicate column names",
        result((1, 2), columns=["a", "b"]),
        result((1, 2), columns=["n", "n"]),
        True,
        True,
        False,
    ),
    ("an extra column", result((1,)), result((1, "x")), False, False, True),
    ("a missing column", result((1, "x")), result((1,)), False, False, False),
    ("NULL and NULL", result((None,)), result((None,)), True, True, True),
    ("NULL and 'None'", result((None,)), result(("None",)), False, False, False),
    ("NULL and 0", result((None,)), result((0,)), False, False, False),
    ("NULL and ''", result((None,)), result(("",)), False, False, False),
    ("infinity", result((INF,)), result((INF,)), True, True, False),
    ("both infinities", result((INF,), (-INF,)), result((-INF,), (INF,)), True, False, False),
    ("infinity and a number", result((INF,)), result((1e308,)), False, False, False),
    ("nan", result((NAN,)), result((NAN,)), True, True, True),
    ("leading zero", result(("05",)), result((5,)), False, False, False),
    ("leading zero as text", result(("05",)), result(("05",)), True, True, True),
    ("integer and float", result((5,)), result((5.0,)), True, True, True),
    ("number and its text", result((5,)), result(("5",)), False, False, True),
    ("noise of 1e-9", result((0.1 + 0.2,)), result((0.3,)), True, True, True),
    ("noise under 1e-9", result((0.0,)), result((5e-10,)), True, True, True),
    ("noise above tolerance", result((1.0,)), result((1.00001,)), False, False, True),
    ("one bucket of the reference", result((0.001,)), result((0.004,)), False, False, True),
    ("either side of a bucket edge", result((12.344,)), result((12.346,)), False, False, False),
    ("2^60 and 2^60 + 1", result((2**60,)), result((2**60 + 1,)), False, False, True),
    ("case of text", result(("a",)), result(("A",)), False, False, False),
    ("trailing space", result(("a",)), result(("a ",)), False, False, False),
    ("text and blob", result(("a",)), result((b"a",)), False, False, False),
    ("both empty", Result(("a",), ()), Result(("b",), ()), True, True, True),
    ("empty and one row", Result(("a",), ()), result((1,)), False, False, False),
    ("mixed types in a column", result((1,), ("a",), (None,)), result((None,), (1,), ("a",)), True, False, True),
]


@pytest.mark.parametrize(
    ("name", "gold", "predicted", "strict", "ordered", "reference"),
    CASES,
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_hand_made_cases(name, gold, predicted, strict, ordered, reference):
    assert match(gold, predicted, ordered=False).equal is strict
    assert match(gold, predicted, ordered=True).equal is ordered
    if name != "nan":
        assert reference_match(gold, predicted).equal is reference


def test_near_ties_pair_up_although_sorting_crosses_them():
    gold = result((1.0, "b"), (1.0 + 4e-7, "a"))
    predicted = result((1.0 + 3e-7, "b"), (1.0 + 1e-7, "a"))
    assert match(gold, predicted, ordered=False).equal


def test_columns_that_agree_alone_but_not_in_rows():
    gold = result((1, 1), (2, 2))
    predicted = result((1, 2), (2, 1))
    verdict = match(gold, predicted, ordered=False)
    assert not verdict.equal
    assert "rows do not" in verdict.reason


cells = st.one_of(
    st.none(), st.integers(-3, 3), st.floats(allow_nan=True), st.text("ab", max_size=2), st.binary(max_size=2)
)
tables = st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[cells] * width), min_size=1, max_size=6))


@given(rows=tables, seed=st.integers(0, 10**6))
def test_any_shuffle_of_rows_and_columns_agrees(rows, seed):
    shuffle = random.Random(seed)
    order = shuffle.sample(range(len(rows[0])), len(rows[0]))
    shuffled = [tuple(row[n] for n in order) for row in shuffle.sample(rows, len(rows))]
    assert match(result(*rows), result(*shuffled), ordered=False).equal


@given(rows=tables, data=st.data())
def test_a_value_that_stands_nowhere_else_is_missed(rows, data):
    row = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(0, len(rows[0]) - 1))
    changed = [list(r) for r in rows]
    changed[row][column] = "unheard of"
    before, after = result(*rows), result(*[tuple(r) for r in changed])
    assert not match(before, after, ordered=True).equal
    assert not match(before, after, ordered=False).equal


@given(gold=tables, predicted=tables)
def test_it_never_crashes_and_is_symmetric(gold, predicted):
    a, b = result(*gold), result(*predicted)
    assert match(a, b, ordered=False).equal == match(b, a, ordered=False).equal
    reference_match(a, b)


def test_ten_identical_columns_do_not_explode():
    gold = result(*[(n % 2,) * 10 for n in range(1000)])
    predicted = result(*[((n + 1) % 2,) * 9 + (n % 2,) for n in range(1000)])
    start = time.perf_counter()
    assert not match(gold, predicted, ordered=False).equal
    assert time.perf_counter() - start < 20


def test_ten_thousand_rows():
    rows = [(n, f"x{n % 97}", n / 3, None, n % 7, "y", n * n, n / 7, "z", n % 2) for n in range(10_000)]
    shuffled = random.Random(0).sample(rows, len(rows))
    assert match(result(*rows), result(*shuffled), ordered=False).equal
