"""The figures of HiL-Bench from our tables, as SVG: the judgment gap, and precision against recall.

Equal tables give equal bytes. Colours are those of Okabe and Ito, told apart with any colour vision; marks and hatches
tell them apart in grey.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from helpseek.condition import Condition
from helpseek.files import atomic_path
from helpseek.report.labels import place_labels

BARS = {
    str(Condition.FULL_INFO): ("full information", "#0072B2", ""),
    str(Condition.TOOL): ("with ask_human", "#E69F00", "//"),
    str(Condition.SPEC_ONLY): ("ask_human, no exploration", "#CC79A7", "xx"),
    str(Condition.BLOCKED): ("blocked", "#999999", ".."),
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vP*X"
STYLE = {
    "svg.hashsalt": "helpseek",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "hatch.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
ISO_F1 = (0.2, 0.4, 0.6, 0.8)


def judgment_gap_figure(main_results: pd.DataFrame, path: Path) -> None:
    """Draw pass@k by model and condition with intervals, one panel a task set; k is the table's largest."""
    k = _largest_k(main_results)
    panels = _panels(main_results)
    width = max(4.5, 1.2 + 0.85 * main_results["model"].nunique())
    with saved(path, (width, 0.4 + 3.0 * len(panels))) as figure:
        axes = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
        for axis, (title, rows) in zip(axes, panels, strict=True):
            axis.set_ylabel(f"pass@{k}")
            axis.set_title(title, fontsize=9)
            _draw_bars(axis, rows, f"pass_at_{k}")
        handles = {
            label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        if handles:
            figure.legend(handles.values(), handles, loc="outside upper center", ncols=2, frameon=False)


def precision_recall_figure(ask_quality: pd.DataFrame, path: Path) -> None:
    """Draw precision against recall of questions with intervals, over curves of equal Ask-F1; one panel a task set.

    A model that asks nothing has no precision; it is named under the panel instead.
    """
    panels = _panels(ask_quality)
    with saved(path, (0.4 + 4.8 * len(panels), 5.0)) as figure:
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axis, (title, rows) in zip(axes, panels, strict=True):
            silent = list(dict.fromkeys(rows.loc[rows["precision"].isna(), "model"]))
            note = textwrap.fill(f"asked nothing: {', '.join(silent)}", 60) if silent else ""
            axis.set(xlim=(0, 1.02), ylim=(0, 1.02), ylabel="precision of questions")
            axis.set_xlabel("\n".join(filter(None, ["recall of blockers", note])))
            axis.set_aspect("equal")
            axis.set_title(title, fontsize=9)
            _draw_iso_f1(axis)
        for axis, (_, rows) in zip(axes, panels, strict=True):
            _draw_points(axis, rows[rows["precision"].notna()])


def _panels(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Title and rows of each task set; one without rows for an empty table."""
    parts = table.groupby(["taskset", "domain"], sort=False, observed=True)
    panels = [(f"{name} ({domain}), {_n_tasks(rows['n_tasks'])}", rows) for (name, domain), rows in parts]
    return panels or [("no episodes", table)]


@contextmanager
def saved(path: Path, size: tuple[float, float]) -> Iterator[Figure]:
    """A figure of `size` inches, written to `path` at a clean end. Draws without pyplot, so without a display."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        with atomic_path(path) as temporary:
            figure.savefig(temporary, format=path.suffix.lstrip("."), metadata=_metadata(path), dpi=150)


def _metadata(path: Path) -> dict[str, Any]:
    """No date, so that equal figures are equal files."""
    return {"Date": None} if path.suffix == ".svg" else {}


def _largest_k(table: pd.DataFrame) -> int:
    return max(int(found.group(1)) for name in table.columns if (found := re.fullmatch(r"pass_at_(\d+)", name)))


def _n_tasks(counts: pd.Series) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"n = {low} tasks" if low == high else f"n = {low} to {high} tasks"


def _draw_bars(axis: Any, rows: pd.DataFrame, name: str) -> None:
    models = list(dict.fromkeys(rows["model"]))
    shown = [condition for condition in BARS if condition in set(rows["condition"])]
    width = 0.8 / max(1, len(shown))
    for n, condition in enumerate(shown):
        bars = rows[rows["condition"] == condition].set_index("model").reindex(models)
        height, low, high = (bars[f"{name}{end}"].to_numpy(dtype=float) for end in ("", "_low", "_high"))
        label, colour, hatch = BARS[condition]
        axis.bar(
            np.arange(len(models)) + (n - (len(shown) - 1) / 2) * width,
            height,
            width,
            yerr=np.clip([height - low, high - height], 0, None),
            label=label,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            linewidth=0.5,
            error_kw={"elinewidth": 0.9, "capsize": 2, "ecolor": "#222222"},
        )
    crowded = len(models) > 4 or any(len(model) > 14 for model in models)
    axis.set_xticks(range(len(models)), models, rotation=30 if crowded else 0, ha="right" if crowded else "center")
    axis.set_ylim(0, 1.02)
    axis.grid(axis="y", color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)


def _draw_iso_f1(axis: Any) -> None:
    """Curves of equal F1: precision = F r / (2 r - F)."""
    for level in ISO_F1:
        recall = np.linspace(level / (2 - level), 1, 200)
        axis.plot(recall, level * recall / (2 * recall - level), color="#cccccc", linewidth=0.8, zorder=0)
        axis.annotate(
            f"F1 {level}",
            (1, level / (2 - level)),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
            color="#888888",
            annotation_clip=False,
        )


def _draw_points(axis: Any, rows: pd.DataFrame) -> None:
    """One mark a row: colour and mark by model, filled with the tool and open without exploration; the first named."""
    models = list(dict.fromkeys(rows["model"]))
    for _, row in rows.iterrows():
        which = models.index(row["model"])
        colour = COLOURS[which % len(COLOURS)]
        axis.errorbar(
            row["recall"],
            row["precision"],
            xerr=_distances(row, "recall"),
            yerr=_distances(row, "precision"),
            fmt=MARKERS[which % len(MARKERS)],
            markersize=6,
            color=colour,
            markerfacecolor=colour if row["condition"] == str(Condition.TOOL) else "white",
            elinewidth=0.8,
            clip_on=False,
        )
    if rows["condition"].nunique() > 1:
        axis.plot([], [], "o", color="#555555", label=BARS[Condition.TOOL][0])
        axis.plot([], [], "o", color="#555555", markerfacecolor="white", label=BARS[Condition.SPEC_ONLY][0])
        axis.legend(loc="lower right", frameon=False, fontsize=8)
    named = rows.drop_duplicates("model")
    bars = np.concatenate([_error_bars(rows, "recall"), _error_bars(rows, "precision")])
    place_labels(axis, named["recall"].to_numpy(float), named["precision"].to_numpy(float), list(named["model"]), bars)


def _error_bars(rows: pd.DataFrame, name: str) -> Any:
    """Ends of the error bars of `name` in data units: x0, y0, x1, y1."""
    low, high = (rows[f"{name}_{end}"].fillna(rows[name]).to_numpy(dtype=float) for end in ("low", "high"))
    x, y = rows["recall"].to_numpy(dtype=float), rows["precision"].to_numpy(dtype=float)
    return np.column_stack([low, y, high, y] if name == "recall" else [x, low, x, high])


def _distances(row: pd.Series, name: str) -> Any:
    """Lengths of an error bar below and above; none where there is no interval."""
    ends = np.array([[row[name] - row[f"{name}_low"]], [row[f"{name}_high"] - row[name]]], dtype=float)
    return np.clip(np.nan_to_num(ends), 0, None)
