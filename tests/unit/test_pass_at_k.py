"""pass@k on known cases, against enumeration, and with invalid attempts."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpseek.scoring.pass_at_k import pass_at_k, summarise_attempts, unbiased_pass_at_k

outcomes = st.lists(st.sampled_from([True, False, None]), max_size=7)


def test_any_of_the_first_k():
    attempts = summarise_attempts({"a": [False, True, False], "b": [False, False, True], "c": [False] * 3})
    assert [pass_at_k(attempts, k).any_of_first for k in (1, 2, 3)] == [0, pytest.approx(1 / 3), pytest.approx(2 / 3)]


def test_the_unbiased_estimate_uses_every_attempt():
    attempts = summarise_attempts({"a": [False, True, False], "b": [False, False, True], "c": [False] * 3})
    assert [pass_at_k(attempts, k).unbiased for k in (1, 2, 3)] == [
        pytest.approx(2 / 9),
        pytest.approx(4 / 9),
        pytest.approx(2 / 3),
    ]


def test_an_invalid_attempt_is_no_attempt():
    attempts = summarise_attempts({"a": [None, True, False], "b": [None, None, True], "c": [None] * 3})
    one, two = pass_at_k(attempts, 1), pass_at_k(attempts, 2)
    assert (one.any_of_first, one.n_tasks, one.n_excluded) == (1, 2, 1)
    assert (two.any_of_first, two.n_tasks, two.n_excluded) == (1, 1, 2)


def test_no_task_has_enough_attempts():
    result = pass_at_k(summarise_attempts({"a": [True]}), 2)
    assert math.isnan(result.any_of_first)
    assert (result.n_tasks, result.n_excluded) == (0, 1)
    assert pass_at_k(summarise_attempts({}), 1).n_excluded == 0


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.integers(1, 7))
def test_the_unbiased_estimate_is_the_mean_over_all_draws(passed, k):
    k = min(k, len(passed))
    draws = list(itertools.combinations(passed, k))
    expected = sum(any(draw) for draw in draws) / len(draws)
    assert float(unbiased_pass_at_k(len(passed), sum(passed), k)) == pytest.approx(expected)


@given(st.dictionaries(st.text(max_size=3), outcomes, max_size=6), st.integers(1, 4))
def test_it_does_what_the_definition_says(tasks, k):
    valid = {task: [a for a in attempts if a is not None] for task, attempts in tasks.items()}
    kept = [attempts for attempts in valid.values() if len(attempts) >= k]
    result = pass_at_k(summarise_attempts(tasks), k)
    assert (result.n_tasks, result.n_excluded) == (len(kept), len(tasks) - len(kept))
    if kept:
        assert result.any_of_first == pytest.approx(sum(any(attempts[:k]) for attempts in kept) / len(kept))
    if kept and all(len(attempts) == k for attempts in kept):
        assert result.unbiased == pytest.approx(result.any_of_first)
