"""Embed what a run is sure to look up, so that shards rarely load the embedding model."""

from pathlib import Path

from helpseek.errors import reported
from helpseek.tasks.build import embed_texts

with reported(snakemake.log[0]):
    embed_texts(Path(snakemake.input.tasks).parent, Path(snakemake.output.embeddings))
