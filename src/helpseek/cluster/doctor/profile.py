"""A Snakemake profile as the doctor reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpseek.config_file import read_yaml
from helpseek.errors import UserError, nearest

SLURM_EXECUTORS = ("helpseek-slurm", "slurm")


@dataclass(frozen=True, slots=True)
class Profile:
    """`settings` are the profile's keys, `resources` its `default-resources`; empty without a profile."""

    path: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)

    @property
    def executor(self) -> str:
        return str(self.settings.get("executor", "local"))

    def setting(self, name: str) -> Any:
        """An executor's own setting, such as `status-command`; its key begins with the executor's name."""
        return self.settings.get(f"{self.executor}-{name}")

    def minutes(self, name: str) -> int:
        value = str(self.resources.get(name) or 0)
        return int(value) if value.isascii() and value.isdecimal() else 0

    def word(self, name: str) -> str:
        return str(self.resources.get(name) or "")


def read_profile(path: Path) -> Profile:
    """The profile at `path`, a folder or its file. Raises `UserError` when it is none."""
    file = path / "config.yaml" if path.is_dir() else path
    if not file.is_file():
        beside = path.parent if path.parent.is_dir() else Path()
        known = [
            str(found.parent) for found in [*beside.glob("*/config.yaml"), *Path("profiles").glob("**/config.yaml")]
        ]
        listed = f"; profiles here: {', '.join(sorted(set(known)))}" if known else ""
        raise UserError(f"{file}: no such profile{nearest(str(path), known)}{listed}")
    settings = read_yaml(file)
    resources = settings.get("default-resources") or {}
    if isinstance(resources, list):
        resources = dict(str(entry).partition("=")[::2] for entry in resources)
    if not isinstance(resources, dict):
        raise UserError(f"{file}: `default-resources`: expected a map of names to values, not {resources!r}")
    return Profile(file, settings, resources)
