"""Install BFCL's data in a folder of its own, and check it."""

from pathlib import Path

from helpseek.bfcl.data import install
from helpseek.errors import reported

with reported(snakemake.log[0]):
    install(Path(snakemake.output.package), snakemake.params.wheel)
