"""Generate one task set: tasks, blockers, splits and databases."""

from pathlib import Path

from helpseek.errors import reported
from helpseek.tasks.build import generate

with reported(snakemake.log[0]):
    generate(Path(snakemake.output.tasks).parent, snakemake.params.spec, snakemake.params.seed)
