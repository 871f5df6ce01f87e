"""The pairs: the published counts, id by id, and what a judgement call changes."""

import csv

import pytest

from helpseek.bfcl.build import effects_of, make_index
from helpseek.bfcl.pairs import CERTIFIED, DEFINITIONS, MISS_KINDS, dropped
from helpseek.bfcl.world_calls import derive


def counts(index, definition):
    kept = [pair for pair in index.pairs if pair.within(DEFINITIONS[definition])]
    return [sum(pair.kind == kind for pair in kept) for kind in MISS_KINDS], len({pair.base_id for pair in kept})


@pytest.mark.parametrize(
    ("definition", "miss_func", "miss_param", "twins"),
    [
        ("certified", 116, 107, 151),
        ("judgement-free", 119, 119, 157),
        ("uncertified", 117, 114, 153),
        ("login", 117, 108, 152),
        ("comparable", 182, 183, 188),
        ("no-compound", 93, 103, 138),
    ],
)
def test_the_published_counts(bfcl_index, definition, miss_func, miss_param, twins):
    assert counts(bfcl_index, definition) == ([miss_func, miss_param], twins)


def test_each_filter_drops_its_counted_set(bfcl_index):
    assert {name: len(pairs) for name, pairs in dropped(bfcl_index.pairs, CERTIFIED).items()} == {
        "bad_key": 14,
        "several_empty_turns": 4,
        "gold_counts_differ": 2,
        "gold_calls_differ": 6,
        "dialogue_differs": 9,
        "no_world_call": 134,
        "construction_error": 8,
    }


def test_the_published_set_id_by_id(bfcl_index, bfcl_samples):
    with (bfcl_samples / "pairs_reconstruction.tsv").open() as file:
        published = {row["miss_id"]: row for row in csv.DictReader(file, delimiter="\t")}
    assert len(published) == len(bfcl_index.pairs) == 400
    for pair in bfcl_index.pairs:
        row = published[pair.pair_id]
        assert pair.within(CERTIFIED) is (row["in_final_223"] == "1"), pair.pair_id
        assert pair.anchor == int(row["anchor_turn"]), pair.pair_id
        assert pair.base_id == row["base_id"]


@pytest.mark.parametrize(
    ("world", "acting"),
    [
        ({}, [129, 129]),
        ({"also": ["contact_customer_support"]}, [131, 131]),
        ({"session": True}, [130, 130]),
        ({"session": True, "also": ["cd"]}, [138, 135]),
    ],
)
def test_judgement_calls_move_the_pairs_as_counted(bfcl_package, bfcl_dataset, world, acting):
    index = make_index(bfcl_dataset, effects_of(derive(bfcl_package), world))
    acts = [pair for pair in index.pairs if "no_world_call" not in pair.failed]
    assert [sum(pair.kind == kind for pair in acts) for kind in MISS_KINDS] == acting


def test_the_twins_say_the_same_before_the_anchor(bfcl_index, bfcl_dataset):
    for pair in bfcl_index.pairs:
        if pair.within(CERTIFIED):
            miss, base = bfcl_dataset.items[pair.pair_id], bfcl_dataset.items[pair.base_id]
            assert miss.turns[: pair.anchor] == base.turns[: pair.anchor]
            assert not miss.gold[pair.anchor]
            assert pair.world_calls
            assert set(pair.withheld) <= bfcl_dataset.tools(miss)
