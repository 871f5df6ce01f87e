"""Make every table and figure of the decisions to ask or act."""

from pathlib import Path

from helpseek.errors import reported
from helpseek.report.make_bfcl import make_bfcl_tables

with reported(snakemake.log[0]):
    make_bfcl_tables(
        dict(snakemake.input.items()), dict(snakemake.params.items()), Path(snakemake.output[0]).parent.parent
    )
