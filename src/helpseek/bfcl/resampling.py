"""Intervals of the rates: base twins are resampled, since the pairs of one twin share a dialogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from helpseek.bfcl.scores import COLUMNS, RATES, Scored, sums_by_twin
from helpseek.scoring.intervals import Array, Interval, Resampling, Statistic, cluster_bootstraps

DRAWS = 10_000


def intervals(scored: Sequence[Scored], resampling: Resampling) -> dict[str, Interval]:
    """Every rate of `RATES` with its interval over base twins."""
    return cluster_bootstraps(sums_by_twin(scored), {name: _rate(name) for name in RATES}, resampling)


def _rate(name: str, offset: int = 0) -> Statistic:
    parts, wholes = RATES[name]
    upper = [COLUMNS.index(part) + offset for part in parts]
    lower = [COLUMNS.index(whole) + offset for whole in wholes]

    def statistic(sums: Array) -> Array:
        top, bottom = sums[..., upper].sum(axis=-1), sums[..., lower].sum(axis=-1)
        return np.divide(top, bottom, out=np.full(np.shape(bottom), np.nan), where=bottom != 0)

    return statistic


def differences(a: Sequence[Scored], b: Sequence[Scored], resampling: Resampling) -> dict[str, Interval]:
    """Rates of `a` less rates of `b`, paired: over the pairs that both have a decision on, twins resampled together."""
    common = {one.pair_id for one in a} & {one.pair_id for one in b}
    rows = [
        dict(zip(_twins(part), sums_by_twin(part), strict=True))
        for part in ([one for one in scored if one.pair_id in common] for scored in (a, b))
    ]
    joined = [rows[0][twin] + rows[1][twin] for twin in rows[0]]
    return cluster_bootstraps(joined, {name: _difference(name) for name in RATES}, resampling)


def _twins(scored: Sequence[Scored]) -> list[str]:
    """Base twins in the order of `sums_by_twin`."""
    return list(dict.fromkeys(one.base_id for one in scored))


def _difference(name: str) -> Statistic:
    first, second = _rate(name), _rate(name, offset=len(COLUMNS))
    return lambda sums: first(sums) - second(sums)


def paired_shares(
    a: Mapping[str, bool], b: Mapping[str, bool], twin_of: Callable[[str], str], resampling: Resampling
) -> Interval:
    """Share true in `a` less share true in `b` over the items that both have, twins resampled together."""
    rows: dict[str, list[int]] = {}
    for item in a.keys() & b.keys():
        row = rows.setdefault(twin_of(item), [0, 0, 0])
        row[0] += 1
        row[1] += a[item]
        row[2] += b[item]
    return cluster_bootstraps(
        [rows[twin] for twin in sorted(rows)],
        {"": lambda sums: np.divide(sums[..., 1] - sums[..., 2], sums[..., 0])},
        resampling,
    )[""]
