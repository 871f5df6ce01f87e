"""The curated lists and the audit: what each heuristic finds in the real data, and its rates against the lists."""

import pytest

from helpseek.bfcl.audit import Flag, quality
from helpseek.bfcl.build import run_audit
from helpseek.bfcl.exclusions import Exclusion, Exclusions, read_exclusions
from helpseek.errors import UserError


@pytest.fixture(scope="module")
def audited(bfcl_package, bfcl_dataset, bfcl_index):
    return run_audit(bfcl_package, bfcl_dataset, bfcl_index)


def found(audited, heuristic):
    short = {"miss_param": "P", "miss_func": "F", "base": "B", "context": "L"}
    ids = [
        flag.item_id.removeprefix("multi_turn_").removeprefix("long_")
        for flag in audited[0]
        if flag.heuristic == heuristic
    ]
    return {short[name.rpartition("_")[0]] + name.rpartition("_")[2] for name in ids}


@pytest.mark.parametrize(
    ("heuristic", "items"),
    [
        ("unchanged_text", {"P195", "P199"}),
        ("withheld_not_in_gold", {"F33", "F133"}),
        ("several_empty_turns", {"P167", "P180", "F167", "F180"}),
        ("gold_call_fails", {"B188", "P188", "F188", "L188"}),
    ],
)
def test_precise_heuristics_find_exactly_these(audited, heuristic, items):
    assert found(audited, heuristic) == items


@pytest.mark.parametrize(
    ("heuristic", "among"),
    [
        ("current_id", {"P95", "P101"}),
        ("value_stated_earlier", {"P104", "P185"}),
        ("text_differs", {"F133"}),
        ("followup_does_not_restore", {"P156"}),
        ("nothing_of_gold_removed", {"P88", "P95", "P101"}),
        ("gold_mismatch", {"P68", "P140", "P143", "P154", "F29", "F140", "F143", "F154"}),
        ("dialogue_differs", {"P8", "P9", "P33", "P163", "F2", "F9", "F11", "F33", "F178"}),
    ],
)
def test_other_heuristics_find_at_least_these(audited, heuristic, among):
    assert among <= found(audited, heuristic)


def test_rates_have_their_counts(audited):
    by_name = {one.heuristic: one for one in audited[1]}
    assert len(by_name) == 12
    ungrounded = by_name["ungrounded_literal"]
    assert (ungrounded.looked_at, ungrounded.bad_keys_listed, ungrounded.construction_errors_listed) == (800, 31, 8)
    assert ungrounded.recall == pytest.approx((ungrounded.bad_keys_found + ungrounded.construction_errors_found) / 39)
    assert by_name["unchanged_text"].precision == 1.0


def test_no_flags_and_no_listed_items_give_no_rate():
    empty = Exclusions({}, {}, {})
    (one,) = quality([], {"h": ["a"]}, empty)
    assert one.precision is None
    assert one.recall is None
    listed = Exclusions({"a": Exclusion("a", "r", "s")}, {}, {})
    (one,) = quality([Flag("a", "h", ""), Flag("b", "h", "")], {"h": ["a", "b"]}, listed)
    assert (one.precision, one.recall) == (0.5, 1.0)


def test_the_curated_lists_are_whole(bfcl_dataset, bfcl_index):
    lists = read_exclusions()
    assert [len(part) for part in (lists.bad_keys, lists.construction_errors, lists.compound_turns)] == [31, 8, 27]
    for part in (lists.bad_keys, lists.construction_errors, lists.compound_turns):
        for item_id, entry in part.items():
            assert item_id in bfcl_dataset.items
            assert entry.source
            assert len(entry.reason) > 20
    for pair in bfcl_index.pairs:
        world = {call.partition("(")[0] for call in pair.world_calls}
        assert set(pair.independent) <= world - set(pair.withheld)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bad_keys: 5", "`bad_keys` must be a list"),
        ("bad_keys: [{item: a, source: s}]", r"`bad_keys\.0`: expected the keys"),
        ("bad_keys: [{item: a, source: s, reason: r}, {item: a, source: s, reason: r}]", "listed twice"),
    ],
)
def test_a_broken_list_is_named(tmp_path, text, message):
    file = tmp_path / "exclusions.yaml"
    file.write_text(text + "\nconstruction_errors: []\ncompound_turns: []\n")
    with pytest.raises(UserError, match=message):
        read_exclusions(file)
