"""The shaped reward of an episode (HiL-Bench, Equations 3 and 4): questions pay or cost, then coverage pays.

The paper pays nothing for the answer; `success` adds that where a configuration asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from helpseek.config import RewardWeights


@dataclass(frozen=True, slots=True)
class Reward:
    """The return of one episode and its parts: `steps` has one entry a question."""

    steps: tuple[float, ...]
    coverage: float
    success: float

    @property
    def total(self) -> float:
        return sum(self.steps) + self.coverage + self.success


def episode_reward(verdicts: Sequence[str], n_blockers: int, resolved: bool | None, weights: RewardWeights) -> Reward:
    """The reward of an episode.

    `verdicts`: the oracle's, one a question, in order; only `resolved` stands for a registered blocker that was not
    resolved before. `n_blockers` >= 1. `resolved`: whether the submission is right; None counts as wrong.
    Questions after the first `weights.max_questions` pay nothing and cost as irrelevant ones do.
    """
    heard = len(verdicts) if weights.max_questions is None else weights.max_questions
    paid = [verdict == "resolved" and number < heard for number, verdict in enumerate(verdicts)]
    return Reward(
        steps=tuple(weights.relevant if pays else weights.irrelevant for pays in paid),
        # Without a single discovery the term is 0 of itself.
        coverage=weights.coverage * sum(paid) / n_blockers,
        success=weights.success * bool(resolved),
    )


def break_even_precision(n_blockers: int, weights: RewardWeights) -> float:
    """The share of relevant questions above which one more question pays on average, once one blocker is discovered.

    A question costs `-irrelevant` with probability 1 - p and gains `relevant` and a blocker's part of the coverage with
    probability p. 0.136, 0.154 and 0.167 for 3, 4 and 5 blockers with the paper's weights.
    """
    cost, gain = -weights.irrelevant, weights.relevant + weights.coverage / n_blockers
    return cost / (cost + gain)
