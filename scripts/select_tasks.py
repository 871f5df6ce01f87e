"""Apply the paper's task filter to the finished sweeps of one task set."""

from pathlib import Path

from helpseek.errors import reported
from helpseek.tasks.build import select

with reported(snakemake.log[0]):
    select(
        Path(snakemake.input.tasks).parent,
        [Path(file) for file in snakemake.input.episodes],
        Path(snakemake.output.selection),
        max_blocked_pass_rate=snakemake.params.max_blocked_pass_rate,
        min_full_info_pass_rate=snakemake.params.min_full_info_pass_rate,
    )
