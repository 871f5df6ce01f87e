"""Interval estimates: Wilson for one proportion, bootstrap by task for everything else.

Attempts on one task resemble each other, so tasks, not episodes, are resampled (cluster bootstrap, percentile).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Statistic = Callable[[Array], Array]

# Resampling weights held at once; bounds memory to about 200 MB.
BLOCK = 10_000_000
# Drawing one category of a multinomial takes about as long as drawing this many clusters (8 to 11 measured at 8,000).
MULTINOMIAL_COST = 10


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its interval; `n` trials or tasks. NaN: undefined."""

    estimate: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are made: their level, the resamples of a bootstrap, its seed."""

    confidence: float = 0.95
    resamples: int = 2000
    seed: int = 0


DEFAULT_RESAMPLING = Resampling()


def wilson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Wilson score interval of a proportion (Wilson 1927, without continuity correction). NaN when `n` is 0."""
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0)
    # Here, because SciPy takes longer to import than all of a BFCL scoring.
    from scipy.stats import binomtest

    bounds = binomtest(successes, n).proportion_ci(confidence, method="wilson")
    return Interval(successes / n, float(bounds.low), float(bounds.high), n)


def bootstrap_sums(sums: npt.ArrayLike, resampling: Resampling) -> Array:
    """Column sums of resampled clusters: (clusters, columns) -> (resamples, columns).

    Clusters with equal rows are interchangeable, so how often each distinct row is drawn is all that is drawn.
    """
    rows, counts = np.unique(np.asarray(sums, dtype=np.float64), axis=0, return_counts=True)
    rng = np.random.default_rng(resampling.seed)
    block = max(1, BLOCK // (len(rows) + int(counts.sum())))
    sizes = [min(block, resampling.resamples - start) for start in range(0, resampling.resamples, block)]
    return np.concatenate([_draws(counts, size, rng) @ rows for size in sizes])


def _draws(counts: npt.NDArray[np.int64], size: int, rng: np.random.Generator) -> Array:
    """How often each distinct row comes up in `size` draws of all clusters: (size, rows)."""
    n, kinds = int(counts.sum()), len(counts)
    if kinds * MULTINOMIAL_COST < n:
        return rng.multinomial(n, counts / n, size=size).astype(np.float64)
    row_of = np.repeat(np.arange(kinds), counts)
    cells = row_of[rng.integers(0, n, (size, n))] + kinds * np.arange(size)[:, np.newaxis]
    return np.bincount(cells.ravel(), minlength=size * kinds).reshape(size, kinds).astype(np.float64)


def cluster_bootstraps(
    sums: npt.ArrayLike, statistics: Mapping[str, Statistic], resampling: Resampling = DEFAULT_RESAMPLING
) -> dict[str, Interval]:
    """Percentile intervals of statistics of column sums over clusters, all from the same resamples.

    `sums` is (clusters, columns), one row per task. A statistic maps an array whose last axis holds the column sums to
    one value per leading index; a resample where it is NaN is left out. Bounds are NaN for fewer than two tasks, which
    tell nothing about how tasks vary. When all tasks are alike the interval has no width.
    """
    values = np.atleast_2d(np.asarray(sums, dtype=np.float64))
    n = len(values) if values.size else 0
    if n == 0:
        return dict.fromkeys(statistics, Interval(math.nan, math.nan, math.nan, 0))
    resampled = bootstrap_sums(values, resampling) if n > 1 else np.empty((0, values.shape[1]))
    total = values.sum(axis=0)
    intervals = {}
    for name, statistic in statistics.items():
        low, high = _percentiles(np.asarray(statistic(resampled)), resampling.confidence)
        intervals[name] = Interval(float(statistic(total)), low, high, n)
    return intervals


def _percentiles(values: Array, confidence: float) -> tuple[float, float]:
    """The central share of the defined values; NaN without any."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return math.nan, math.nan
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def cluster_bootstrap(
    sums: npt.ArrayLike, statistic: Statistic, resampling: Resampling = DEFAULT_RESAMPLING
) -> Interval:
    """`cluster_bootstraps` of one statistic."""
    return cluster_bootstraps(sums, {"": statistic}, resampling)[""]


def on_columns(statistic: Statistic, *columns: int) -> Statistic:
    """`statistic` of some of the columns, in the given order."""
    return lambda sums: statistic(sums[..., list(columns)])


def ratio(sums: Array) -> Array:
    """First column over second; NaN where the second is 0. The statistic of a mean and of a micro-averaged rate."""
    parts, wholes = sums[..., 0], sums[..., 1]
    return np.divide(parts, wholes, out=np.full(np.shape(wholes), np.nan), where=wholes != 0)


def bootstrap_mean(values: npt.ArrayLike, resampling: Resampling = DEFAULT_RESAMPLING) -> Interval:
    """Mean over tasks of one value per task."""
    column = np.asarray(values, dtype=np.float64)
    return cluster_bootstrap(np.column_stack([column, np.ones_like(column)]), ratio, resampling)


def paired_bootstrap(a: npt.ArrayLike, b: npt.ArrayLike, resampling: Resampling = DEFAULT_RESAMPLING) -> Interval:
    """Mean of `a` minus mean of `b`, paired by task: entry i of both belongs to task i."""
    return bootstrap_mean(np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64), resampling)
