"""The tables over episodes. Pure functions: frames under `schemas.SCHEMAS` in, one plain frame out.

Each estimate is followed by `_low` and `_high`: Wilson where it is a proportion of tasks, bootstrap by task elsewhere.
Episodes that ended in `infra_error` are counted in `n_infra_error` and in no estimate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from helpseek.condition import Condition
from helpseek.report.episode_groups import (
    KEYS,
    TASK_KEYS,
    as_attempts,
    attempts_by_task,
    estimate,
    estimate_columns,
    groups,
    infra_errors,
    is_valid,
)
from helpseek.scoring.intervals import (
    DEFAULT_RESAMPLING,
    Interval,
    Resampling,
    bootstrap_mean,
    cluster_bootstraps,
    on_columns,
    paired_bootstrap,
    ratio,
    wilson,
)
from helpseek.scoring.pass_at_k import eligible, passed_in_first, unbiased_pass_at_k

PER_EPISODE = {
    "questions": "n_questions",
    "steps": "n_steps",
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
}


def main_results(episodes: pd.DataFrame, k: int, resampling: Resampling = DEFAULT_RESAMPLING) -> pd.DataFrame:
    """pass@1 to pass@k per model, domain, task set and condition (HiL-Bench Table 1).

    `n_tasks` have k valid attempts; tasks with fewer are left out of every column and counted in `n_excluded`.
    `pass_at_j`: passed in one of the first j valid attempts. `pass_at_j_unbiased`, for j < k: the estimate over all
    valid attempts. `pass_at_k_reference`: pass@k under the reference harness's match, NaN where it has no such grade.
    """
    tasks, reference = attempts_by_task(episodes, "resolved"), attempts_by_task(episodes, "resolved_reference")
    errors = infra_errors(episodes)
    rows = []
    for group in groups(tasks):
        attempts = as_attempts(group.frame)
        kept = eligible(attempts, k)
        counts = errors.loc[tuple(group.keys.values())]
        row = group.keys | {
            "n_tasks": int(kept.sum()),
            "n_excluded": int((~kept).sum()),
            "n_episodes": int(counts["n_episodes"]),
            "n_infra_error": int(counts["n_infra_error"]),
        }
        for j in range(1, k + 1):
            row |= estimate(f"pass_at_{j}", _proportion(passed_in_first(attempts, j)[kept], resampling))
        for j in range(1, k):
            unbiased = unbiased_pass_at_k(attempts.n_valid[kept], attempts.n_passed[kept], j)
            row |= estimate(f"pass_at_{j}_unbiased", bootstrap_mean(unbiased, resampling))
        graded = as_attempts(reference.loc[group.frame.index])
        by_reference = passed_in_first(graded, k)[kept & eligible(graded, k)]
        rows.append(row | estimate(f"pass_at_{k}_reference", _proportion(by_reference, resampling)))
    return pd.DataFrame(rows, columns=_main_columns(k))


def _main_columns(k: int) -> list[str]:
    names = [f"pass_at_{j}" for j in range(1, k + 1)] + [f"pass_at_{j}_unbiased" for j in range(1, k)]
    estimates = estimate_columns(*names, f"pass_at_{k}_reference")
    return [*KEYS, "n_tasks", "n_excluded", "n_episodes", "n_infra_error", *estimates]


def _proportion(passed: Any, resampling: Resampling) -> Interval:
    return wilson(int(passed.sum()), len(passed), resampling.confidence)


def judgment_gap(episodes: pd.DataFrame, k: int, resampling: Resampling = DEFAULT_RESAMPLING) -> pd.DataFrame:
    """pass@k with full information minus pass@k with the tool, paired by task, per model and task set.

    `n_tasks` have k valid attempts under both conditions; `n_unpaired` under one of them only. Models that were not run
    under both conditions have no row.
    """
    pair = (str(Condition.FULL_INFO), str(Condition.TOOL))
    tasks = attempts_by_task(episodes[episodes["condition"].isin(pair)], "resolved")
    tasks["passed"] = passed_in_first(as_attempts(tasks), k).astype(float)
    tasks.loc[~eligible(as_attempts(tasks), k), "passed"] = np.nan
    by = [key for key in KEYS if key != "condition"]
    rows = []
    for values, part in tasks.groupby(by, sort=False, observed=True):
        if part["condition"].nunique() < len(pair):
            continue
        wide = part.pivot(index="task_id", columns="condition", values="passed")
        paired = wide.dropna()
        full_info, tool = paired[pair[0]].to_numpy(), paired[pair[1]].to_numpy()
        rows.append(
            dict(zip(by, values, strict=True))
            | {"n_tasks": len(paired), "n_unpaired": int(wide.notna().sum(axis=1).eq(1).sum())}
            | estimate(f"pass_at_{k}_full_info", _proportion(full_info, resampling))
            | estimate(f"pass_at_{k}_tool", _proportion(tool, resampling))
            | estimate("judgment_gap", paired_bootstrap(full_info, tool, resampling))
        )
    estimates = estimate_columns(f"pass_at_{k}_full_info", f"pass_at_{k}_tool", "judgment_gap")
    return pd.DataFrame(rows, columns=[*by, "n_tasks", "n_unpaired", *estimates])


def complementary(episodes: pd.DataFrame, resampling: Resampling = DEFAULT_RESAMPLING) -> pd.DataFrame:
    """Mean questions, steps and tokens per episode (HiL-Bench Table 7 and Figure 8), with intervals.

    `n_episodes` are valid; token means are over the `n_token_counts` of them whose endpoint counted tokens.
    """
    rows = episodes.loc[is_valid(episodes), TASK_KEYS].assign(n_episodes=1)
    for name, column in PER_EPISODE.items():
        rows[name] = episodes[column].astype("float64")
        rows[f"{name}_counted"] = rows[name].notna()
    sums = [column for column in rows.columns if column not in TASK_KEYS]
    tasks = rows.groupby(TASK_KEYS, sort=False, observed=True)[sums].sum().reset_index()
    metrics = [column for name in PER_EPISODE for column in (name, f"{name}_counted")]
    means = {name: on_columns(ratio, 2 * n, 2 * n + 1) for n, name in enumerate(PER_EPISODE)}
    errors = infra_errors(episodes)
    table = []
    for group in groups(tasks):
        row = group.keys | {
            "n_tasks": len(group.frame),
            "n_episodes": int(group.frame["n_episodes"].sum()),
            "n_token_counts": int(group.frame["output_tokens_counted"].sum()),
            "n_infra_error": int(errors.loc[tuple(group.keys.values()), "n_infra_error"]),
        }
        counts = group.frame[metrics].to_numpy(dtype=float)
        for name, interval in cluster_bootstraps(counts, means, resampling).items():
            row |= estimate(name, interval)
        table.append(row)
    head = [*KEYS, "n_tasks", "n_episodes", "n_token_counts", "n_infra_error"]
    return pd.DataFrame(table, columns=[*head, *estimate_columns(*PER_EPISODE)])
