"""A rule's script that starts one process a node, as multi-node training does."""

import subprocess
import sys
from pathlib import Path

from helpseek.cluster.launch import launcher

asked = snakemake.resources
words = launcher(asked.nodes, asked.tasks, snakemake.threads)
command = [*words, sys.executable, str(Path(snakemake.scriptdir) / "sum_ranks.py")]
with Path(snakemake.output[0]).open("w") as output:
    subprocess.run(command, stdout=output, check=True)
