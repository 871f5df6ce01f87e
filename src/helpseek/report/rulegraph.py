"""The picture of the workflow: one box a rule, arrows along the files."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import networkx as nx
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from helpseek.errors import UserError
from helpseek.report.figures import saved

NODE = re.compile(r"(id\d+)\[(\w+)\]")
EDGE = re.compile(r"(id\d+) --> (id\d+)")
# Inches a box and its surroundings.
WIDTH, HEIGHT = 1.75, 0.62


def read_rulegraph(snakefile: Path, configfiles: Sequence[str]) -> nx.DiGraph:
    """The rules of the workflow as Snakemake sees them, each with an arrow to the rules that read its files.

    Raises `UserError` as Snakemake fails.
    """
    configs = ["--configfile", *configfiles] if configfiles else []
    command = [sys.executable, "-m", "snakemake", "-s", str(snakefile), "--nolock", "--forceall"]
    done = subprocess.run(
        [*command, "--rulegraph", "mermaid-js", *configs], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise UserError(f"snakemake --rulegraph failed: {done.stderr.strip()[-500:]}")
    return parse_mermaid(done.stdout)


def parse_mermaid(text: str) -> nx.DiGraph:
    """A graph of rule names from Mermaid's notation, without arrows that longer paths imply."""
    names = dict(NODE.findall(text))
    graph = nx.DiGraph((names[start], names[end]) for start, end in EDGE.findall(text))
    graph.add_nodes_from(names.values())
    return nx.transitive_reduction(graph)


def rulegraph_figure(graph: nx.DiGraph, path: Path) -> None:
    """Draw `graph` from left to right, a rule right after the last that it waits for."""
    columns = [sorted(column) for column in nx.topological_generations(graph)]
    rows = max(map(len, columns))
    place: dict[str, tuple[float, float]] = {}
    for x, column in enumerate(columns):
        # Near the rules it reads from, so that arrows cross little.
        column.sort(key=lambda rule: (_height(graph, rule, place), rule))
        for y, rule in enumerate(column):
            place[rule] = (x, (len(column) - 1) / 2 - y)
    with saved(path, (WIDTH * len(columns), HEIGHT * (rows + 0.5))) as figure:
        axis = figure.subplots()
        axis.set_axis_off()
        axis.set(xlim=(-0.5, len(columns) - 0.5), ylim=(-rows / 2, rows / 2))
        boxes = {rule: _box(axis, rule, where) for rule, where in place.items()}
        for start, end in graph.edges:
            style = {"arrowstyle": "-|>", "color": "#888888", "linewidth": 0.8, "shrinkA": 1, "shrinkB": 1}
            ends = {"patchA": boxes[start], "patchB": boxes[end]}
            axis.annotate("", xy=place[end], xytext=place[start], arrowprops=style | ends)


def _box(axis: Axes, rule: str, where: tuple[float, float]) -> Patch | None:
    look = {"boxstyle": "round,pad=0.4", "facecolor": "#eef4fa", "edgecolor": "#0072B2", "linewidth": 0.8}
    text = axis.text(*where, rule.replace("_", " "), ha="center", va="center", fontsize=8, bbox=look)
    return text.get_bbox_patch()


def _height(graph: nx.DiGraph, rule: str, place: dict[str, tuple[float, float]]) -> float:
    """Where the rules that `rule` reads from stand on average, counted downwards."""
    before = [-place[start][1] for start in graph.predecessors(rule)]
    return sum(before) / len(before) if before else 0.0
