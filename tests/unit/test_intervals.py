"""Intervals on known cases, their coverage, and degenerate inputs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpseek.scoring.intervals import (
    Resampling,
    bootstrap_mean,
    bootstrap_sums,
    cluster_bootstrap,
    cluster_bootstraps,
    on_columns,
    paired_bootstrap,
    ratio,
    wilson,
)


def test_wilson_gives_the_leaderboards_half_width():
    """73 of 300 tasks: shown as 24.33 +- 5.16."""
    interval = wilson(73, 300)
    assert round(100 * interval.estimate, 2) == 24.33
    assert round(100 * (interval.high - interval.estimate), 2) == 5.16


def test_wilson_against_its_formula():
    z, p, n = 1.959963984540054, 0.2, 50
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    interval = wilson(10, 50)
    assert interval.low == pytest.approx(centre - half)
    assert interval.high == pytest.approx(centre + half)


@given(st.integers(0, 60), st.integers(0, 60), st.floats(0.5, 0.99))
def test_wilson_holds_the_estimate_and_stays_a_proportion(passed, failed, confidence):
    interval = wilson(passed, passed + failed, confidence)
    if passed + failed == 0:
        assert math.isnan(interval.estimate)
    else:
        assert 0 <= interval.low <= interval.estimate <= interval.high <= 1


def test_wilson_has_width_where_all_passed():
    interval = wilson(20, 20)
    assert (interval.high, interval.n) == (1, 20)
    assert 0.8 < interval.low < 0.9


def test_nothing_and_one_task_have_no_interval():
    assert bootstrap_mean([]).n == 0
    assert math.isnan(bootstrap_mean([]).estimate)
    one = bootstrap_mean([0.5])
    assert (one.estimate, one.n) == (0.5, 1)
    assert math.isnan(one.low)
    assert math.isnan(one.high)


def test_tasks_that_are_all_equal_have_an_interval_without_width():
    interval = bootstrap_mean([0.25] * 40)
    assert (interval.low, interval.estimate, interval.high, interval.n) == (0.25, 0.25, 0.25, 40)


def test_an_undefined_statistic_is_nan():
    interval = cluster_bootstrap([[0, 0], [0, 0]], ratio)
    assert math.isnan(interval.estimate)
    assert math.isnan(interval.low)


def test_the_bootstrap_of_a_mean_has_its_standard_error():
    values = np.random.default_rng(0).normal(3, 2, 400)
    interval = bootstrap_mean(values, Resampling(resamples=4000))
    error = values.std(ddof=1) / 20
    assert interval.low == pytest.approx(values.mean() - 1.96 * error, abs=0.02)
    assert interval.high == pytest.approx(values.mean() + 1.96 * error, abs=0.02)


@pytest.mark.parametrize("repeats", [1, 20], ids=["all rows differ", "few distinct rows"])
def test_rows_are_drawn_as_tasks_are(repeats):
    """Means and variances of the column sums are those of drawing whole tasks with replacement."""
    distinct = np.random.default_rng(1).normal(5, 2, size=(20, 2))
    sums = np.repeat(distinct, repeats, axis=0)
    drawn = bootstrap_sums(sums, Resampling(resamples=20_000))
    assert drawn.mean(axis=0) == pytest.approx(sums.sum(axis=0), rel=0.01)
    assert np.cov(drawn.T) == pytest.approx(len(sums) * np.cov(sums.T, bias=True), rel=0.1, abs=2 * repeats)


def test_several_statistics_share_their_resamples():
    sums = np.random.default_rng(6).integers(0, 9, size=(40, 3)).astype(float)
    intervals = cluster_bootstraps(sums, {"a": ratio, "b": on_columns(ratio, 2, 1)})
    assert intervals["a"] == cluster_bootstrap(sums, ratio)
    assert intervals["b"].estimate == pytest.approx(sums[:, 2].sum() / sums[:, 1].sum())


def test_attempts_of_one_task_widen_the_interval():
    """Ten equal attempts a task are no ten observations."""
    task_rates = np.random.default_rng(2).integers(0, 2, 60).astype(float)
    clustered = cluster_bootstrap(np.column_stack([task_rates * 10, np.full(60, 10)]), ratio)
    naive = bootstrap_mean(np.repeat(task_rates, 10))
    assert clustered.high - clustered.low > 2 * (naive.high - naive.low)


def test_pairing_removes_what_tasks_share():
    rng = np.random.default_rng(3)
    difficulty = rng.normal(0, 10, 100)
    a, b = difficulty + 1 + rng.normal(0, 0.1, 100), difficulty
    interval = paired_bootstrap(a, b)
    assert interval.low > 0.9
    assert interval.high < 1.1


def test_the_same_seed_gives_the_same_interval():
    values = np.random.default_rng(4).normal(size=30)
    assert bootstrap_mean(values) == bootstrap_mean(values)
    assert bootstrap_mean(values) != bootstrap_mean(values, Resampling(seed=1))


def test_coverage_is_near_its_level():
    """Of 95 % intervals over 60 clusters of 3 correlated attempts, 95 % hold the truth; few clusters cost a little."""
    rng = np.random.default_rng(5)
    held = 0
    for trial in range(300):
        rates = rng.beta(2, 2, 60)
        passed = rng.binomial(3, rates)
        interval = cluster_bootstrap(
            np.column_stack([passed, np.full(60, 3)]), ratio, Resampling(resamples=500, seed=trial)
        )
        held += interval.low <= 0.5 <= interval.high
    assert 0.90 <= held / 300 <= 0.98
