"""Judge the oracle's judge on labelled questions."""

from helpseek.errors import reported
from helpseek.oracle.build import validate_judge

with reported(snakemake.log[0]):
    validate_judge(snakemake.wildcards.judge, dict(snakemake.params.items()), snakemake.input, snakemake.output)
