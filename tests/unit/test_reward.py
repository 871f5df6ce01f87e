"""The shaped Ask-F1 reward against Equations 3 and 4 of HiL-Bench."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpseek.config import RewardWeights
from helpseek.rlvr.reward import break_even_precision, episode_reward

PAPER = RewardWeights()
VERDICTS = st.lists(st.sampled_from(["resolved", "repeated", "irrelevant", "capped", "empty"]), max_size=12)


def test_a_silent_episode_earns_nothing():
    assert episode_reward([], 4, True, PAPER).total == 0


def test_questions_and_coverage_add_up():
    reward = episode_reward(["resolved", "irrelevant", "repeated", "resolved"], 4, False, PAPER)
    assert reward.steps == (0.3, -0.1, -0.1, 0.3)
    assert reward.coverage == 0.5
    assert reward.total == pytest.approx(0.9)


@pytest.mark.parametrize(("n_blockers", "most"), [(3, 1.9), (4, 2.2), (5, 2.5)])
def test_the_most_that_can_be_earned(n_blockers, most):
    assert episode_reward(["resolved"] * n_blockers, n_blockers, None, PAPER).total == pytest.approx(most)


def test_without_a_discovery_there_is_no_coverage():
    assert episode_reward(["irrelevant"] * 3, 3, True, PAPER).coverage == 0


def test_success_pays_only_where_the_configuration_says_so():
    weights = RewardWeights(success=1.0)
    assert episode_reward([], 3, True, weights).total == 1.0
    assert episode_reward([], 3, None, weights).total == episode_reward([], 3, False, weights).total == 0.0


def test_questions_over_the_cap_only_cost():
    weights = RewardWeights(max_questions=1)
    reward = episode_reward(["resolved", "resolved"], 2, None, weights)
    assert reward.steps == (0.3, -0.1)
    assert reward.coverage == 0.5


@pytest.mark.parametrize(("n_blockers", "precision"), [(3, 0.136), (4, 0.154), (5, 0.167)])
def test_break_even_precision(n_blockers, precision):
    assert round(break_even_precision(n_blockers, PAPER), 3) == precision


@given(VERDICTS, st.integers(3, 5))
def test_at_break_even_precision_one_more_question_is_worth_nothing(verdicts, n_blockers):
    p = break_even_precision(n_blockers, PAPER)
    discovered = verdicts.count("resolved")
    if not 1 <= discovered < n_blockers:
        return
    now = episode_reward(verdicts, n_blockers, None, PAPER).total
    found = episode_reward([*verdicts, "resolved"], n_blockers, None, PAPER).total
    missed = episode_reward([*verdicts, "irrelevant"], n_blockers, None, PAPER).total
    assert p * found + (1 - p) * missed == pytest.approx(now)
