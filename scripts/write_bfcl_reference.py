"""Write the outputs of one reference behaviour."""

from pathlib import Path

from helpseek.bfcl.build import build_reference
from helpseek.errors import reported

with reported(snakemake.log[0]):
    build_reference(
        snakemake.wildcards.behaviour, dict(snakemake.input.items()), Path(snakemake.output[0]).parent.parent
    )
