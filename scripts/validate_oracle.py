"""Judge the oracle's judge on labelled questions."""

from helpseek.errors import reported
from helpseek.oracle.build import validate_judge

with reported(snakemake.log[0]):
    validate_judge(dict(snakemake.params.items()), dict(snakemake.input.items()), dict(snakemake.output.items()))
