"""Draw every figure."""

from pathlib import Path

from helpseek.errors import reported
from helpseek.report.make import make_figures

with reported(snakemake.log[0]):
    make_figures(dict(snakemake.input.items()), Path(snakemake.output[0]).parent)
