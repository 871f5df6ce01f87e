"""Figures: equal tables give equal bytes, marks stand for the table's values, labels keep apart."""

import itertools
import math
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from helpseek.errors import UserError
from helpseek.report.figures import judgment_gap_figure, precision_recall_figure
from helpseek.report.labels import place_labels
from helpseek.report.make import make_figures

SVG = "{http://www.w3.org/2000/svg}"


def main_results(tasksets=("one",)):
    return pd.DataFrame(
        [
            {"model": model, "domain": "sql", "taskset": taskset, "condition": condition, "n_tasks": 30}
            | {f"pass_at_{k}{end}": value for k in (1, 3) for end, value in (("", p), ("_low", p / 2), ("_high", 1))}
            for taskset in tasksets
            for model in ("never_ask", "oracle_asker")
            for condition, p in (("full_info", 0.9), ("blocked", 0.0), ("tool", 0.4))
        ]
    )


def ask_quality(points, tasksets=("one",), conditions=("tool",)):
    return pd.DataFrame(
        [
            {"model": model, "domain": "sql", "taskset": taskset, "condition": condition, "n_tasks": 30}
            | {"precision": p, "precision_low": p - 0.05, "precision_high": p + 0.05}
            | {"recall": r, "recall_low": r - 0.05, "recall_high": r + 0.05}
            for taskset in tasksets
            for condition in conditions
            for model, (p, r) in points.items()
        ]
    )


def texts(path):
    return [element.text for element in ET.parse(path).iter(f"{SVG}text")]


def test_equal_tables_give_equal_bytes_without_a_date(tmp_path):
    points = {"a": (0.5, 0.5), "b": (0.52, 0.5)}
    for name in ("first.svg", "second.svg"):
        judgment_gap_figure(main_results(), tmp_path / f"gap_{name}")
        precision_recall_figure(ask_quality(points), tmp_path / f"pr_{name}")
    for figure in ("gap", "pr"):
        first, second = ((tmp_path / f"{figure}_{name}.svg").read_bytes() for name in ("first", "second"))
        assert first == second
        assert b"dc:date" not in first


def test_the_gap_figure_names_models_conditions_k_and_n(tmp_path):
    judgment_gap_figure(main_results(("one", "two")), tmp_path / "gap.svg")
    found = texts(tmp_path / "gap.svg")
    for expected in ("never_ask", "oracle_asker", "pass@3", "full information", "with ask_human", "blocked"):
        assert expected in found
    assert "one (sql), n = 30 tasks" in found
    assert "two (sql), n = 30 tasks" in found
    assert "pass@1" not in found


def test_the_style_does_not_leak(tmp_path):
    before = matplotlib.rcParams["svg.hashsalt"]
    judgment_gap_figure(main_results(), tmp_path / "gap.svg")
    assert matplotlib.rcParams["svg.hashsalt"] == before


def test_a_silent_model_is_named_instead_of_drawn(tmp_path):
    points = {"asks": (0.5, 0.5), "silent": (math.nan, 0.0)}
    precision_recall_figure(ask_quality(points), tmp_path / "pr.svg")
    found = texts(tmp_path / "pr.svg")
    assert "asked nothing: silent" in found
    assert "silent" not in found
    assert "asks" in found


def test_each_model_is_named_once_a_panel(tmp_path):
    quality = ask_quality({"a": (0.5, 0.5)}, tasksets=("one", "two"), conditions=("tool", "spec_only"))
    precision_recall_figure(quality, tmp_path / "pr.svg")
    assert texts(tmp_path / "pr.svg").count("a") == 2


@pytest.mark.parametrize("columns", [0, 1])
def test_empty_tables_and_missing_bounds_draw(tmp_path, columns):
    quality = ask_quality({"a": (0.5, 0.5)}).assign(precision_low=math.nan, precision_high=math.nan)
    judgment_gap_figure(main_results().iloc[:columns], tmp_path / "gap.svg")
    precision_recall_figure(quality.iloc[:columns], tmp_path / "pr.svg")
    assert ("no episodes" in texts(tmp_path / "pr.svg")) is (columns == 0)


def test_labels_of_crowded_points_do_not_overlap():
    figure = Figure(figsize=(5, 5))
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    axis.set(xlim=(0, 1), ylim=(0, 1))
    x, y = np.linspace(0.4, 0.6, 9), np.full(9, 0.5)
    place_labels(axis, x, y, [f"model number {n}" for n in range(9)], np.empty((0, 4)))
    figure.draw_without_rendering()
    # The extent of the text alone: that of an annotation holds its line too.
    boxes = [Text.get_window_extent(text, figure.canvas.get_renderer()).padded(-1) for text in axis.texts]
    assert len(boxes) == 9
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


@pytest.mark.parametrize("damage", [lambda content: content[:200], lambda content: b""])
def test_damaged_and_swapped_tables_are_told(damage, tmp_path):
    main_file, ask_file = tmp_path / "main_results.parquet", tmp_path / "ask_quality.parquet"
    main_results().to_parquet(main_file)
    ask_quality({"oracle_asker": (0.5, 0.5)}).to_parquet(ask_file)
    inputs = {"main_results": str(main_file), "ask_quality": str(ask_file)}
    make_figures(inputs, tmp_path)
    with pytest.raises(UserError, match=r"ask_quality\.parquet: lacks the column `pass_at_1`"):
        make_figures(inputs | {"main_results": str(ask_file)}, tmp_path)
    main_file.write_bytes(damage(main_file.read_bytes()))
    with pytest.raises(UserError, match=r"main_results\.parquet: not a readable Parquet file"):
        make_figures(inputs, tmp_path)
