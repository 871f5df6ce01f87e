"""Ask-F1 on known cases and its properties."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpseek.scoring.ask_f1 import AskCounts, ask_quality, ask_quality_reference

counts = st.integers(1, 6).flatmap(
    lambda blockers: st.integers(0, blockers).flatmap(
        lambda resolved: st.builds(AskCounts, st.integers(resolved, 12), st.just(resolved), st.just(blockers))
    )
)


def test_a_silent_run_counts_in_recall_but_not_in_the_references():
    """Task A asks 2 and resolves 1 of 4; task B, with 4 blockers, stays silent: true recall 1/8, reported 1/4."""
    rows = [AskCounts(2, 1, 4), AskCounts(0, 0, 4)]
    assert ask_quality(rows).recall == 0.125
    assert ask_quality_reference(rows).recall == 0.25
    assert ask_quality(rows).precision == ask_quality_reference(rows).precision == 0.5


def test_spam_has_the_papers_score():
    """80 % recall with 50 questions at 8 % precision is an Ask-F1 of 14.5 %."""
    assert round(ask_quality([AskCounts(50, 4, 5)]).f1, 3) == 0.145


def test_asking_exactly_what_is_needed_is_perfect():
    quality = ask_quality([AskCounts(3, 3, 3), AskCounts(4, 4, 4)])
    assert (quality.precision, quality.recall, quality.f1) == (1, 1, 1)


def test_never_asking_has_no_precision_and_no_f1():
    quality = ask_quality([AskCounts(0, 0, 3)] * 5)
    assert math.isnan(quality.precision)
    assert (quality.recall, quality.f1) == (0, 0)
    assert ask_quality_reference([AskCounts(0, 0, 3)] * 5).precision == 0


def test_nothing_is_undefined():
    assert all(math.isnan(part) for part in (ask_quality([]).precision, ask_quality([]).recall, ask_quality([]).f1))


def test_it_is_micro_averaged():
    rows = [AskCounts(10, 1, 1), AskCounts(1, 1, 9)]
    assert ask_quality(rows).precision == pytest.approx(2 / 11)
    assert ask_quality(rows).recall == pytest.approx(2 / 10)


@given(st.lists(counts, min_size=1, max_size=20))
def test_f1_is_the_harmonic_mean_and_lies_between(rows):
    quality = ask_quality(rows)
    if quality.precision > 0 and quality.recall > 0:
        harmonic = 2 * quality.precision * quality.recall / (quality.precision + quality.recall)
        assert quality.f1 == pytest.approx(harmonic)
    else:
        assert quality.f1 == 0
    assert 0 <= quality.recall <= 1
    assert 0 <= quality.f1 <= 1


@given(st.lists(counts, min_size=1, max_size=20), st.randoms())
def test_order_is_free_and_silence_never_helps(rows, random):
    shuffled = random.sample(rows, len(rows))
    assert ask_quality(shuffled) == ask_quality(rows) or math.isnan(ask_quality(rows).precision)
    assert ask_quality_reference(rows).recall >= ask_quality(rows).recall
