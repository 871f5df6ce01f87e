"""Tables and figures of decisions: known behaviours, ranks, pushes, partial models."""

import itertools
import xml.etree.ElementTree as ET

import pandas as pd
import pytest

from helpseek.bfcl.decision_rows import decision_rows, reading_rows
from helpseek.bfcl.output_files import find_models
from helpseek.bfcl.scorecard import Options, score_model
from helpseek.config_file import parse_config, read_yaml
from helpseek.errors import UserError
from helpseek.report.bfcl_figures import decisions_figure, ranks_figure
from helpseek.report.bfcl_tables import (
    bfcl_differences,
    bfcl_pairs,
    bfcl_push,
    bfcl_ranks,
    bfcl_readings,
    bfcl_scores,
    decided,
)
from helpseek.scoring.intervals import Resampling
from tests.conftest import ROOT
from tests.unit.bfcl_builders import write_model

FAST = Resampling(resamples=200)


def hold_always(category, rows):
    """Asks instead of calling, on every turn."""
    return [row | {"result": [["Which one?"] for _ in row["result"]]} for row in rows]


def act_always(category, rows):
    """Repeats the gold of the next turn wherever gold is empty."""
    for row in rows:
        for turn, steps in enumerate(row["result"][:-1]):
            if len(steps) == 1:
                row["result"][turn] = row["result"][turn + 1]
    return rows


def partial(category, rows):
    return rows[:20]


@pytest.fixture(scope="module")
def decisions(bfcl_index, bfcl_dataset, tmp_path_factory):
    """Decisions of four models; the first two were also scored by BFCL, which passed other items."""
    frames = {}
    behaviours = {"gold": lambda c, r: r, "acts": act_always, "asks": hold_always, "few": partial}
    for name, change in behaviours.items():
        folder = write_model(tmp_path_factory.mktemp("models") / name, bfcl_dataset, change)
        card = score_model(find_models(folder)[0], bfcl_index, Options(allow_partial=True))
        rows = pd.DataFrame(list(decision_rows(card, bfcl_index)))
        for side in ("base", "miss"):
            rows[f"{side}_passed"] = {"gold": None, "acts": True, "asks": side == "base", "few": None}[name]
        frames[name] = (rows, pd.DataFrame(list(reading_rows(card, bfcl_index))))
    return frames


@pytest.fixture(scope="module")
def rows(decisions):
    return decided(pd.concat([frame for frame, _ in decisions.values()], ignore_index=True), "certified")


def test_scores(rows):
    table = bfcl_scores(rows, FAST).set_index("model")
    rates = ["act_rate", "hold_rate", "decision_accuracy", "both_rate"]
    assert list(table.loc["gold", rates]) == [1, 1, 1, 1]
    assert list(table.loc["asks", rates]) == [0, 1, 0.5, 0]
    assert table.loc["acts", "act_rate"] == 1
    assert table.index[0] == "gold"
    assert (table.loc["gold", ["n_pairs", "n_scored"]] == 223).all()
    assert table.loc["few (partial)", "partial"]
    assert table.loc["few (partial)", "n_scored"] < 223
    assert table.loc["few (partial)", "unreached_base"] == 223 - table.loc["few (partial)", "n_scored"]
    assert table.loc["acts", "official_miss"] == 1
    assert table.loc["asks", "official_miss"] == 0
    assert pd.isna(table.loc["gold", "official_miss"])


def test_a_partial_model_is_marked_in_every_table(decisions, rows):
    assert {"few (partial)"} <= set(bfcl_scores(rows, FAST)["model"])
    differences = bfcl_differences(rows, FAST)
    assert {"few (partial)"} <= set(differences["model"]) | set(differences["other"])
    readings = bfcl_readings(pd.concat([frame for _, frame in decisions.values()]), rows)
    assert {"few (partial)"} <= set(readings["model"])
    push = bfcl_push(rows, {"gold": ("g", "plain"), "few": ("g", "other")}, FAST)
    assert list(push["group"]) == ["g (partial)"]


def test_differences_between_every_two_models(rows):
    table = bfcl_differences(rows, FAST)
    assert len(table) == 6
    first = table.set_index(["model", "other"]).loc[("gold", "asks")]
    assert (first["act_rate"], first["hold_rate"], first["decision_accuracy"]) == (1, 0, 0.5)
    assert first["n_pairs"] == 223


def test_ranks_of_models_that_bfcl_scored(rows):
    table = bfcl_ranks(bfcl_scores(rows, FAST)).set_index("model")
    assert list(table.index) == ["acts", "asks"]
    assert table["official_rank"].tolist() == [1, 2]
    assert table.loc["acts", "shift"] == 1 - table.loc["acts", "decision_rank"]


def test_the_push_of_a_prompt(rows):
    table = bfcl_push(rows, {"asks": ("g", "plain"), "acts": ("g", "do_not_ask"), "gold": ("other", "plain")}, FAST)
    (row,) = table.to_dict("records")
    assert (row["group"], row["prompt"], row["n_pairs"]) == ("g", "do_not_ask", 223)
    assert row["act_rate"] == 1
    assert row["hold_rate"] < 0
    assert (row["official_miss"], row["official_base"]) == (1, 0)
    assert row["official_miss_low"] <= 1 <= row["official_miss_high"]


def test_filters_in_order(bfcl_index):
    frame = pd.DataFrame(
        {
            "pair_id": [pair.pair_id for pair in bfcl_index.pairs],
            "kind": [pair.kind for pair in bfcl_index.pairs],
            "failed_filters": [list(pair.failed) for pair in bfcl_index.pairs],
        }
    )
    table = bfcl_pairs(frame)
    assert table["left"].tolist() == [386, 382, 380, 374, 365, 231, 223]
    assert (table["miss_func"] + table["miss_param"] == table["dropped"]).all()


def texts(path):
    return [element.text for element in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_figures(rows, tmp_path):
    scores = bfcl_scores(rows, FAST)
    for name in ("a", "b"):
        decisions_figure(scores, tmp_path / f"{name}.svg")
        ranks_figure(bfcl_ranks(scores), tmp_path / f"{name}_ranks.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert set(scores["model"]) <= set(texts(tmp_path / "a.svg"))
    drawn = " ".join(texts(tmp_path / "a_ranks.svg"))
    assert "acts" in drawn
    assert "few" not in drawn
    ranks_figure(bfcl_ranks(scores[scores["model"] == "gold"]), tmp_path / "none.svg")
    assert "no model has BFCL's own scores" in texts(tmp_path / "none.svg")


def config_with(results):
    raw = read_yaml(ROOT / "config.yaml")
    return parse_config(raw | {"bfcl": {"results": results}}, [ROOT / "config.yaml"])


def test_groups_need_one_plain_prompt():
    plain = {"path": "a", "group": "g"}
    assert config_with({"a": plain, "b": plain | {"prompt": "ask_first"}}).bfcl.results["a"].prompt == "plain"
    for members in itertools.permutations([plain, plain | {"path": "b"}]):
        with pytest.raises(UserError, match="group `g` needs exactly one entry with `prompt: plain`"):
            config_with(dict(zip("ab", members, strict=True)))
    with pytest.raises(UserError, match="this name is taken"):
        config_with({"package": {"path": "a"}})
