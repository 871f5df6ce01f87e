"""Scores: the published figures on the real sample, known behaviours, options, intervals, official scores."""

import json
import math
import shutil

import numpy as np
import pytest

from helpseek.bfcl.calls import Call
from helpseek.bfcl.decisions import Rules, decide, observe
from helpseek.bfcl.output_files import find_models
from helpseek.bfcl.outputs import read_outputs
from helpseek.bfcl.reference import BEHAVIOURS, write_reference
from helpseek.bfcl.resampling import differences, intervals
from helpseek.bfcl.scorecard import Options, as_json, score_directories, score_model
from helpseek.bfcl.scores import Scored, score, sums_by_twin, within
from helpseek.errors import UserError
from helpseek.scoring.intervals import Resampling
from tests.unit.bfcl_builders import gold_rows, write_category, write_model

MAIN = ("act_rate", "hold_rate", "decision_accuracy", "both_rate")


def card_of(folder, index, **options):
    (files,) = find_models(folder)
    return score_model(files, index, Options(**options))


def percent(rates, *names):
    return [round(100 * rates[name], 1) for name in names]


def test_the_sample_scores_as_published(bfcl_index, bfcl_samples):
    card = card_of(bfcl_samples / "gpt-oss-120b_v0.11.0", bfcl_index)
    assert percent(card.score.rates, *MAIN) == [88.8, 73.5, 81.2, 63.2]
    assert percent(card.score.rates, "decision_accuracy_miss_func", "decision_accuracy_miss_param") == [80.6, 81.8]
    assert (card.score.n_scored, card.score.n_base_twins) == (223, 151)
    assert (card.coverage.unreached_base, card.coverage.unreached_miss) == (2, 9)
    variants, sensitivities = card.readings(bfcl_index)
    readings = {variant.name: percent(score.rates, "decision_accuracy")[0] for variant, score in variants}
    assert readings["uncertified"] == 80.3
    assert readings["login"] == 82.0
    assert readings["all comparable"] == 68.8
    assert readings["any call"] == 74.5
    assert readings["reached"] == 80.8
    turned = {one.option: one for one in sensitivities}
    assert percent(turned["name_suffix"].score.rates, "decision_accuracy") == [81.6]
    assert turned["name_suffix"].changed == 2


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        ("act_always", [100, 0, 50, 0]),
        ("ask_always", [0, 100, 50, 0]),
        ("gold", [100, 100, 100, 100]),
        ("guess_then_read", [100, 0, 50, 0]),
    ],
)
@pytest.mark.parametrize("definition", ["certified", "judgement-free"])
def test_reference_behaviours(bfcl_index, bfcl_dataset, bfcl_effects, tmp_path, behaviour, expected, definition):
    write_reference(behaviour, bfcl_dataset, bfcl_effects, tmp_path)
    card = card_of(tmp_path, bfcl_index, definition=definition)
    assert percent(card.score.rates, *MAIN) == expected
    assert set(BEHAVIOURS) == {"act_always", "ask_always", "gold", "guess_then_read"}


def test_too_few_reached_pairs_are_refused_or_marked(bfcl_index, bfcl_samples):
    folder = bfcl_samples / "glyphh_full-eval_partial20"
    with pytest.raises(UserError, match=r"only 17 of 223 pairs reach.*412 missing.*--allow-partial"):
        card_of(folder, bfcl_index)
    card = card_of(folder, bfcl_index, allow_partial=True)
    content = json.loads(as_json(card))
    assert content["partial"] is True
    assert (content["n_pairs"], content["n_scored"], content["unreached_base"], content["unreached_miss"]) == (
        223,
        17,
        206,
        206,
    )


def test_a_category_that_is_not_there_is_named(bfcl_index, bfcl_dataset, tmp_path):
    write_model(tmp_path, bfcl_dataset)
    (tmp_path / "multi_turn" / "BFCL_v4_multi_turn_miss_param_result.json").unlink()
    with pytest.raises(UserError, match="no file for miss_param"):
        card_of(tmp_path, bfcl_index)


def test_one_bad_directory_spoils_no_other(bfcl_index, bfcl_dataset, tmp_path):
    write_model(tmp_path / "good", bfcl_dataset)
    cards, faults = score_directories([tmp_path / "absent", tmp_path / "good"], bfcl_index, Options())
    assert [card.model for card in cards] == ["good"]
    assert len(faults) == 1


def acting_pair(index, kind="miss_param"):
    return next(pair for pair in index.pairs if not pair.failed and pair.kind == kind)


@pytest.mark.parametrize(
    ("step", "option", "before", "after"),
    [
        ([{"NAME": '{"broken": '}], {"non_json_arguments": "ignore"}, True, False),
        ([{"NAME<|channel|>commentary": "{}"}], {"name_suffix": "strip"}, False, True),
        ("I would call NAME(x='y') then.", {"proposals": "attempt"}, False, True),
        ([{"not_a_function": "{}"}], {"counts": "any"}, False, False),
        ([{"READ": "{}"}], {"counts": "any"}, False, True),
    ],
)
def test_each_option_turns_what_it_says(bfcl_index, bfcl_dataset, tmp_path, step, option, before, after):
    pair = acting_pair(bfcl_index)
    world = pair.world_calls[0].partition("(")[0]
    read = next(n for n in sorted(bfcl_index.tools(pair)) if bfcl_index.effects.kind(Call(n)) == "read")
    ready = json.loads(json.dumps(step).replace("NAME", world).replace("READ", read))

    def change(category, rows):
        for row in rows:
            if row["id"] == pair.pair_id:
                row["result"][pair.anchor] = [ready]
        return rows

    outputs = read_outputs(
        find_models(write_model(tmp_path, bfcl_dataset, change))[0], bfcl_index.anchors(), bfcl_index.parameters
    )
    both = next(both for both in observe(bfcl_index, outputs) if both.pair == pair)
    assert decide(both.miss, pair, bfcl_index).acted is before
    assert decide(both.miss, pair, bfcl_index, Rules(**option)).acted is after


def test_an_unreached_anchor_is_no_call_or_left_out(bfcl_index, bfcl_dataset, tmp_path):
    pair = acting_pair(bfcl_index)
    folder = write_model(
        tmp_path,
        bfcl_dataset,
        lambda c, rows: [
            row | {"result": row["result"][: pair.anchor]} if row["id"] == pair.pair_id else row for row in rows
        ],
    )
    card = card_of(folder, bfcl_index)
    assert (card.score.n_scored, card.coverage.miss["not_reached"]) == (223, 1)
    assert card_of(folder, bfcl_index, rules=Rules(unreached="exclude")).score.n_scored == 222


def test_an_open_side_leaves_the_pair_out_and_is_counted(bfcl_index, bfcl_dataset, tmp_path):
    pair = acting_pair(bfcl_index)

    def change(category, rows):
        for row in rows:
            if row["id"] == pair.pair_id:
                row["result"][pair.anchor] = ["<tool_call>{</tool_call>"]
        return rows

    card = card_of(write_model(tmp_path, bfcl_dataset, change), bfcl_index)
    assert (card.score.n_scored, card.coverage.undecided) == (222, 1)


def test_calls_of_a_compound_turn_are_credited_only_when_asked(bfcl_index, bfcl_dataset, tmp_path):
    pair = next(p for p in bfcl_index.pairs if p.independent and p.failed == ("compound_turn",))
    name = pair.independent[0]

    def change(category, rows):
        for row in rows:
            if row["id"] == pair.pair_id:
                row["result"][pair.anchor] = [[{name: '{"file_name": "x"}'}]]
        return rows

    outputs = read_outputs(
        find_models(write_model(tmp_path, bfcl_dataset, change))[0], bfcl_index.anchors(), bfcl_index.parameters
    )
    both = next(both for both in observe(bfcl_index, outputs) if both.pair == pair)
    assert decide(both.miss, pair, bfcl_index).acted is True
    assert decide(both.miss, pair, bfcl_index, Rules(credited=True)).acted is False


def synthetic(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return [
        Scored(f"p{i}", f"b{i // 2}", ("miss_func", "miss_param")[i % 2], bool(rng.integers(2)), bool(rng.integers(2)))
        for i in range(n)
    ]


def test_intervals_agree_with_resampling_twins_one_by_one():
    scored = synthetic()
    found = intervals(scored, Resampling(resamples=4000, seed=1))["decision_accuracy"]
    rng = np.random.default_rng(2)
    twins = sorted({one.base_id for one in scored})
    by_twin = {twin: [one for one in scored if one.base_id == twin] for twin in twins}
    draws = []
    for _ in range(2000):
        drawn = [one for twin in rng.choice(twins, len(twins)) for one in by_twin[twin]]
        draws.append(np.mean([(one.act + one.hold) / 2 for one in drawn]))
    assert found.estimate == pytest.approx(np.mean([(one.act + one.hold) / 2 for one in scored]))
    assert found.low == pytest.approx(np.quantile(draws, 0.025), abs=0.02)
    assert found.high == pytest.approx(np.quantile(draws, 0.975), abs=0.02)


def test_differences_are_paired():
    a = synthetic(seed=3)
    same = differences(a, a, Resampling(resamples=200))
    assert all((i.estimate, i.low, i.high) == (0, 0, 0) for i in same.values())
    better = [Scored(s.pair_id, s.base_id, s.kind, True, True) for s in a]
    found = differences(better, list(reversed(a)), Resampling(resamples=500))["both_rate"]
    assert found.estimate == pytest.approx(1 - np.mean([s.act and s.hold for s in a]))
    assert 0 < found.low <= found.estimate <= found.high


def test_no_pairs_give_no_number():
    assert sums_by_twin([]) == []
    assert math.isnan(intervals([], Resampling(resamples=100))["act_rate"].estimate)


def test_a_score_of_nothing_is_undefined(bfcl_index):
    assert math.isnan(score([], bfcl_index).rates["act_rate"])
    assert within([], "certified") == []


def write_scores(folder, category, failed, total=200):
    rows = [{"accuracy": 1 - len(failed) / total, "correct_count": total - len(failed), "total_count": total}]
    rows += [{"id": item, "valid": False, "error": {"error_type": "x"}} for item in failed]
    write_category(folder / "multi_turn", category, rows, "BFCL_v4_multi_turn_{}_score.json")


def test_official_scores_of_the_same_items(bfcl_index, bfcl_dataset, tmp_path):
    write_model(tmp_path / "result" / "m", bfcl_dataset)
    certified = [pair for pair in bfcl_index.pairs if set(pair.failed) <= {"compound_turn"}]
    failed = [pair.pair_id for pair in certified if pair.kind == "miss_func"][:23]
    for category in ("base", "miss_func", "miss_param"):
        write_scores(tmp_path / "score" / "m", category, failed if category == "miss_func" else [])
    card = card_of(tmp_path / "result" / "m", bfcl_index)
    assert card.official_base == 1
    assert card.official_miss == pytest.approx(200 / 223)
    elsewhere = shutil.move(tmp_path / "score", tmp_path / "elsewhere")
    assert card_of(tmp_path / "result" / "m", bfcl_index).official_miss is None
    assert card_of(tmp_path / "result" / "m", bfcl_index, scores=tmp_path / "elsewhere").official_miss is not None
    assert elsewhere


def test_scores_of_other_outputs_are_not_used(bfcl_index, bfcl_dataset, tmp_path):
    write_model(tmp_path / "result" / "m", bfcl_dataset)
    for category in ("base", "miss_func", "miss_param"):
        write_scores(tmp_path / "score" / "m", category, [], total=150)
    card = card_of(tmp_path / "result" / "m", bfcl_index)
    assert card.official_miss is None
    assert "scores 150 items, but the outputs hold 200" in card.notes[0]
    with pytest.raises(UserError, match="scores 150 items"):
        card_of(tmp_path / "result" / "m", bfcl_index, scores=tmp_path / "score")
    (tmp_path / "score/m/multi_turn/BFCL_v4_multi_turn_base_score.json").write_text("{}\n")
    with pytest.raises(UserError, match="not a BFCL score file"):
        card_of(tmp_path / "result" / "m", bfcl_index, scores=tmp_path / "score")


def test_gold_rows_are_whole(bfcl_dataset):
    assert len(gold_rows(bfcl_dataset, "base")) == 200
