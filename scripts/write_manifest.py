"""Write what was run: the resolved configuration, versions and commit."""

from pathlib import Path

from helpseek.errors import reported
from helpseek.provenance import write_manifest

with reported(snakemake.log[0]):
    write_manifest(Path(snakemake.output.manifest), snakemake.params.config)
