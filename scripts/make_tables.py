"""Make every table in every format."""

from pathlib import Path

from helpseek.errors import reported
from helpseek.report.make import make_tables

with reported(snakemake.log[0]):
    make_tables(dict(snakemake.input.items()), dict(snakemake.params.items()), Path(snakemake.output[0]).parent)
