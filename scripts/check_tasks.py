"""Check every invariant of every task of one set."""

from pathlib import Path

from helpseek.errors import reported
from helpseek.tasks.build import check_invariants

with reported(snakemake.log[0]):
    check_invariants(Path(snakemake.input.tasks).parent, Path(snakemake.output.checks), snakemake.params.sql)
