"""The picture of the workflow."""

import networkx as nx

from helpseek.report.rulegraph import parse_mermaid, rulegraph_figure

MERMAID = """---
title: DAG
---
flowchart TB
	id0[all]
	id1[make_tables]
	id2[evaluate]
	style id0 fill:#D95757,stroke-width:2px,color:#333333
	id2 --> id1
	id1 --> id0
	id2 --> id0
"""


def test_arrows_that_a_longer_path_implies_are_left_out():
    assert set(parse_mermaid(MERMAID).edges) == {("evaluate", "make_tables"), ("make_tables", "all")}


def test_a_rule_without_neighbours_is_drawn(tmp_path):
    graph = nx.DiGraph([("evaluate", "make_tables")])
    graph.add_node("alone")
    rulegraph_figure(graph, tmp_path / "graph.svg")
    drawn = (tmp_path / "graph.svg").read_text()
    assert all(f">{name}<" in drawn for name in ("evaluate", "make tables", "alone"))
