"""Pair should-ask items with their base twins, and audit them."""

from helpseek.bfcl.build import build_pairs
from helpseek.errors import reported

with reported(snakemake.log[0]):
    build_pairs(dict(snakemake.input.items()), dict(snakemake.output.items()), snakemake.params.world)
