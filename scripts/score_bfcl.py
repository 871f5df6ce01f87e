"""Score one model's stored outputs."""

from helpseek.bfcl.build import build_decisions
from helpseek.errors import reported

with reported(snakemake.log[0]):
    build_decisions(
        snakemake.wildcards.model,
        dict(snakemake.params.items()),
        snakemake.input.index,
        dict(snakemake.output.items()),
    )
