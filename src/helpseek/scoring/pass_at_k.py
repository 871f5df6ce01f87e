"""pass@k: the share of tasks solved in k attempts.

Only valid attempts count: one that ended in `infra_error` is no attempt. A task with fewer than k valid attempts is
left out of pass@k and counted as excluded, as the reference harness does by default.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Attempts:
    """Attempts summed up, one entry a task: valid ones, passed ones, and the rank (from 1) of the first passed one.

    The rank is among the task's valid attempts in order; it is 0 when none passed.
    """

    n_valid: Ints
    n_passed: Ints
    first_pass: Ints


@dataclass(frozen=True, slots=True)
class PassAtK:
    """`any_of_first`: passed in one of the first k valid attempts; `unbiased`: mean of 1 - C(n-c, k) / C(n, k).

    NaN without a task. Both are equal when every task has exactly k valid attempts.
    """

    k: int
    any_of_first: float
    unbiased: float
    n_tasks: int
    n_excluded: int


def summarise_attempts(outcomes: Mapping[str, Sequence[bool | None]]) -> Attempts:
    """Attempts per task in order: passed, failed, or None for an invalid one."""
    valid = [[passed for passed in attempts if passed is not None] for attempts in outcomes.values()]
    return Attempts(
        n_valid=np.array([len(attempts) for attempts in valid], dtype=np.int64),
        n_passed=np.array([sum(attempts) for attempts in valid], dtype=np.int64),
        first_pass=np.array([attempts.index(True) + 1 if any(attempts) else 0 for attempts in valid], dtype=np.int64),
    )


def eligible(attempts: Attempts, k: int) -> npt.NDArray[np.bool_]:
    """Which tasks have k valid attempts."""
    return attempts.n_valid >= k


def passed_in_first(attempts: Attempts, k: int) -> npt.NDArray[np.bool_]:
    """Which tasks passed in one of their first k valid attempts."""
    return (attempts.first_pass > 0) & (attempts.first_pass <= k)


def unbiased_pass_at_k(n: npt.ArrayLike, c: npt.ArrayLike, k: int) -> npt.NDArray[np.float64]:
    """Chance that k of n attempts, drawn without replacement, hold one of the c passed ones (Chen et al. 2021, Eq. 1).

    Entries need n >= k.
    """
    attempts, passed = np.asarray(n, dtype=np.float64), np.asarray(c, dtype=np.float64)
    missed = np.ones(np.broadcast(attempts, passed).shape)
    for drawn in range(k):
        missed = missed * np.maximum(attempts - passed - drawn, 0) / (attempts - drawn)
    return 1 - missed


def pass_at_k(attempts: Attempts, k: int) -> PassAtK:
    """Both estimates over the eligible tasks."""
    kept = eligible(attempts, k)
    n = int(kept.sum())
    if n == 0:
        return PassAtK(k, math.nan, math.nan, 0, len(kept))
    first = passed_in_first(attempts, k)[kept]
    unbiased = unbiased_pass_at_k(attempts.n_valid[kept], attempts.n_passed[kept], k)
    return PassAtK(k, float(first.mean()), float(unbiased.mean()), n, len(kept) - n)
