"""Why would Snakemake run what it would run: its own summary of every output, told per rule and reason."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence

from helpseek.errors import UserError

SHOWN_CHARACTERS = 1000
REASONS = {
    "missing": "output missing",
    "ok": "follows from a job above it",
    "updated input files": "an input is newer",
    "params changed": "a parameter or the package's code changed",
    "rule implementation changed": "the rule's script changed",
    "set of input files changed": "other inputs than last time",
    "version changed to": "another version",
}


def explain(arguments: Sequence[str]) -> str:
    """One line per rule and reason: how many jobs `snakemake ARGUMENTS` would run. Raises `UserError` as it fails."""
    command = [sys.executable, "-m", "snakemake", *arguments, "--summary"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"snakemake --summary failed: {_reason(done.stderr)}")
    return summarise(done.stdout)


def _reason(stderr: str) -> str:
    """Snakemake's last words: what follows its usage, traceback and progress is the mistake."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if re.match(r"\w+(Exception|Error)\b", line):
            return " ".join(lines[number:])[:SHOWN_CHARACTERS]
    return lines[-1][:SHOWN_CHARACTERS] if lines else "it said nothing"


def summarise(summary: str) -> str:
    """Sum up the tab-separated table of `snakemake --summary`: jobs by rule and reason."""
    lines = summary[summary.index("output_file\t") :].splitlines() if "output_file\t" in summary else []
    jobs: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
        if row["plan"] == "update pending":
            status = row["status"]
            reason = next((text for key, text in REASONS.items() if status.startswith(key)), status)
            # The log names the job: a job with many outputs counts once.
            jobs[row["rule"], reason].add(row["log-file(s)"] or row["output_file"])
    if not jobs:
        return "Nothing to be done: every output is up to date."
    width = max(len(rule) for rule, _ in jobs)
    return "\n".join(f"{len(names):5d}  {rule:{width}}  {reason}" for (rule, reason), names in jobs.items())
