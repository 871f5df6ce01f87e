"""Interval estimates: Wilson for one proportion, bootstrap by task for everything else.

Attempts on one task resemble each other, so tasks, not episodes, are resampled (cluster bootstrap, percentile).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

Array = npt.NDArray[np.float64]

# Resampling weights held at once; bounds memory to about 80 MB.
BLOCK = 10_000_000


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
    bounds = binomtest(successes, n).proportion_ci(confidence, method="wilson")
    return Interval(successes / n, float(bounds.low), float(bounds.high), n)


def bootstrap_sums(sums: npt.ArrayLike, resampling: Resampling) -> Array:
    """Column sums of resampled clusters: (clusters, columns) -> (resamples, columns).

    Clusters with equal rows are interchangeable, so counts of distinct rows are drawn: as exact, and fast for counts.
    """
    rows, counts = np.unique(np.asarray(sums, dtype=np.float64), axis=0, return_counts=True)
    rng = np.random.default_rng(resampling.seed)
    n, block = int(counts.sum()), max(1, BLOCK // len(rows))
    drawn = [
        rng.multinomial(n, counts / n, size=min(block, resampling.resamples - start)) @ rows
        for start in range(0, resampling.resamples, block)
    ]
    return np.concatenate(drawn)


def cluster_bootstrap(
    sums: npt.ArrayLike, statistic: Callable[[Array], Any], resampling: Resampling = DEFAULT_RESAMPLING
) -> Interval:
    """Percentile interval of a statistic of column sums over clusters.

    `sums` is (clusters, columns), one row per task. `statistic` maps an array whose last axis holds the column sums to
    one value per leading index; a resample where it is NaN is left out. Bounds are NaN for fewer than two tasks, which
    tell nothing about how tasks vary. When all tasks are alike the interval has no width.
    """
    values = np.atleast_2d(np.asarray(sums, dtype=np.float64))
    n = len(values) if values.size else 0
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0)
    estimate = float(statistic(values.sum(axis=0)))
    if n == 1:
        return Interval(estimate, math.nan, math.nan, n)
    resampled = np.asarray(statistic(bootstrap_sums(values, resampling)), dtype=np.float64)
    defined = resampled[~np.isnan(resampled)]
    if not len(defined):
        return Interval(estimate, math.nan, math.nan, n)
    tail = (1 - resampling.confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Interval(estimate, float(low), float(high), n)


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
