"""Draw the rules of the workflow and what they read from each other."""

from pathlib import Path

from helpseek.errors import reported
from helpseek.report.rulegraph import read_rulegraph, rulegraph_figure

with reported(snakemake.log[0]):
    graph = read_rulegraph(Path(snakemake.params.snakefile), snakemake.params.configfiles)
    # A target is no step.
    graph.remove_nodes_from([rule for rule in snakemake.params.targets if rule in graph])
    rulegraph_figure(graph, Path(snakemake.output.rulegraph))
