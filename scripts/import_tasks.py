"""Import one task set of task files: tasks, blockers and splits."""

from pathlib import Path

from helpseek.errors import reported
from helpseek.tasks.build import import_files

with reported(snakemake.log[0]):
    import_files(Path(snakemake.output.tasks).parent, snakemake.params.spec, snakemake.params.seed)
