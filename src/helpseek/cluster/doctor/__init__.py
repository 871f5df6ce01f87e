"""The doctor: would a run work here, and if not, what is the exact fix?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from helpseek.cluster.doctor.drmaa import check_drmaa
from helpseek.cluster.doctor.findings import Finding
from helpseek.cluster.doctor.machine import check_python, check_sandbox, check_storage
from helpseek.cluster.doctor.models import check_models, uses_shell
from helpseek.cluster.doctor.profile import Profile, read_profile
from helpseek.cluster.doctor.slurm import check_slurm
from helpseek.config import Config

__all__ = ["Finding", "Profile", "examine", "read_profile"]


def examine(profile: Profile, config: Config, folder: Path) -> Iterator[Finding]:
    """Every finding for a run of `config` with `profile` in the working directory `folder`, as it is made."""
    yield from check_python(profile)
    yield from check_storage(folder)
    yield from check_slurm(profile)
    yield from check_drmaa(profile)
    yield from check_sandbox(uses_shell(config))
    yield from check_models(config)
