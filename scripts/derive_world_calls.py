"""Derive what each BFCL function does to the world."""

from pathlib import Path

from helpseek.bfcl.build import build_world_calls
from helpseek.errors import reported

with reported(snakemake.log[0]):
    build_world_calls(Path(snakemake.input.package), Path(snakemake.output.world_calls), snakemake.params.world)
