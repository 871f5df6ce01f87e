"""Run one shard of episodes."""

from helpseek.episodes.shard import evaluate_shard
from helpseek.errors import reported

with reported(snakemake.log[0]):
    evaluate_shard(
        dict(snakemake.wildcards.items()),
        dict(snakemake.params.items()),
        dict(snakemake.input.items()),
        dict(snakemake.output.items()),
        concurrency=snakemake.resources.concurrency,
        sql_workers=snakemake.resources.sql_workers,
    )
