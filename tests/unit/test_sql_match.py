"""When two query results agree."""

import itertools
import math
import random
import time
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
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
    ("nan", result((NAN,)), result((float("nan"),)), True, True, True),
    ("nan and -infinity", result((NAN,), (-INF,)), result((-INF,), (float("nan"),)), True, False, False),
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
    ("text and blob", result(("a",)), result((b"a",)), False, False, True),
    ("both empty", Result(("a",), ()), Result(("b",), ()), True, True, True),
    ("empty and one row", Result(("a",), ()), result((1,)), False, False, False),
    ("text that reads as a number", result(("5",), ("a",)), result((5,), ("a",)), False, False, True),
    ("empty text is no number", result(("",)), result((0,)), False, False, False),
    ("too large for the reference", result((1e307,)), result((1e307,)), True, True, False),
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
    assert reference_match(gold, predicted).equal is reference


def test_near_ties_pair_up_although_sorting_crosses_them():
    gold = result((1.0, "b"), (1.0 + 4e-7, "a"))
    predicted = result((1.0 + 3e-7, "b"), (1.0 + 1e-7, "a"))
    assert match(gold, predicted, ordered=False).equal


def test_equal_rows_may_not_cancel_when_others_need_them():
    # 1 agrees with 1 - 9e-7 and with 1 + 9e-7, which do not agree with each other.
    gold, predicted = result((1.0,), (1.0 - 9e-7,)), result((1.0,), (1.0 + 9e-7,))
    assert match(gold, predicted, ordered=False).equal
    assert not match(result((1.0 - 9e-7,)), result((1.0 + 9e-7,)), ordered=False).equal


def test_integers_stay_exact_beside_floats():
    gold = result((1_000_000,), (1_000_000.5,))
    assert match(gold, result((1_000_001,), (1_000_000.5,)), ordered=False).equal
    assert not match(result((1_000_000,)), result((1_000_001,)), ordered=False).equal
    assert not match(result((1_000_000,), (0.5,)), result((1_000_001,), (0.5,)), ordered=False).equal


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
    start = time.process_time()
    assert match(result(*rows), result(*shuffled), ordered=False).equal
    assert time.process_time() - start < 2


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


def agree(a, b):
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
    return type(a) is type(b) and a == b


def brute_force(gold, predicted, *, ordered):
    """Every permutation of columns with every permutation of rows."""
    width, height = len(gold[0]), len(gold)
    row_orders = [range(height)] if ordered else list(itertools.permutations(range(height)))
    return any(
        all(agree(gold[i][j], predicted[row][column]) for i, row in enumerate(rows) for j, column in enumerate(columns))
        for columns in itertools.permutations(range(width))
        for rows in row_orders
    )


close_cells = st.sampled_from([1.0, 1 + 5e-7, 1 + 9e-7, 1 + 1.5e-6, 1, 1_000_000, 1_000_001, 1_000_000.6, None, "1"])
pairs_of_tables = st.tuples(st.integers(1, 3), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(*[st.lists(st.tuples(*[close_cells] * shape[0]), min_size=shape[1], max_size=shape[1])] * 2)
)


@settings(max_examples=300)
@given(pair=pairs_of_tables, shuffled=st.booleans(), seed=st.integers(0, 1000), noise=st.booleans())
def test_it_decides_near_ties_as_trying_everything_does(pair, shuffled, seed, noise):
    gold, predicted = pair
    if shuffled:
        shuffle = random.Random(seed)
        order = shuffle.sample(range(len(gold[0])), len(gold[0]))
        nudge = [shuffle.choice([0, 4e-7, 9e-7]) if noise else 0 for _ in gold]
        predicted = [
            tuple(row[n] * (1 + d) if isinstance(row[n], float) else row[n] for n in order)
            for row, d in zip(shuffle.sample(gold, len(gold)), nudge, strict=True)
        ]
    for ordered in (False, True):
        expected = brute_force(gold, predicted, ordered=ordered)
        assert match(result(*gold), result(*predicted), ordered=ordered).equal is expected


def test_extra_columns_are_taken_greedily_by_the_reference():
    gold = result((1,), (2,))
    assert reference_match(gold, result((2, 1), (2, 2))).equal
    assert not reference_match(gold, result((1, 2), (1, 1))).equal


def test_ten_identical_columns_do_not_explode():
    gold = result(*[(n % 2,) * 10 for n in range(1000)])
    predicted = result(*[((n + 1) % 2,) * 9 + (n % 2,) for n in range(1000)])
    start = time.perf_counter()
    assert not match(gold, predicted, ordered=False).equal
    assert time.perf_counter() - start < 2


def test_look_alike_columns_without_a_pairing_end():
    """One ring of 24 against two rings of 12: any few columns of one look like some of the other."""

    def rings(length):
        return [tuple(int(j // length == i // length and (j - i) % length < 2) for j in range(24)) for i in range(24)]

    start = time.perf_counter()
    assert not match(result(*rings(24)), result(*rings(12)), ordered=False).equal
    assert match(result(*rings(12)), result(*random.Random(0).sample(rings(12), 24)), ordered=False).equal
    assert time.perf_counter() - start < 10


def test_ten_thousand_rows_take_well_under_a_second():
    rows = [(n, f"x{n % 97}", n / 3, None, n % 7, "y", n * n, n / 7, "z", n % 2) for n in range(10_000)]
    shuffled = random.Random(0).sample(rows, len(rows))
    start = time.process_time()
    assert match(result(*rows), result(*shuffled), ordered=False).equal
    assert time.process_time() - start < 2
