"""Import one task set of HiL-Bench files: tasks, blockers and splits."""

from pathlib import Path

from helpseek.errors import reported
from helpseek.tasks.build import import_hilbench

with reported(snakemake.log[0]):
    import_hilbench(Path(snakemake.output.tasks).parent, snakemake.params.spec, snakemake.params.seed)
