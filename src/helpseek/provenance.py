"""What produced a result: a digest of the package modules it depends on, versions, the commit."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from helpseek.files import atomic_path

PACKAGE = Path(__file__).parent
TRACKED_VERSIONS = (
    "helpseek",
    "mini-swe-agent",
    "pyarrow",
    "scikit-learn",
    "scipy",
    "snakemake",
    "torch",
    "transformers",
)


def digest(*modules: str) -> str:
    """Hash (12 hex digits) of the source of `modules`, each a file or folder of the package without its suffix.

    Snakemake tracks a rule's script but no library it imports, so rules carry this among their params.
    Raises `FileNotFoundError` for a module that does not exist: a typo would silently track nothing.
    """
    sha = hashlib.sha256()
    for module in sorted(modules):
        path = PACKAGE / module
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
        for file in files:
            sha.update(str(file.relative_to(PACKAGE)).encode() + b"\0" + file.read_bytes() + b"\0")
    return sha.hexdigest()[:12]


def content_digest(file: Path) -> str:
    """Hash (12 hex digits) of the content of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def make_importable() -> None:
    """Let child processes import the package from this checkout, whatever Python they run."""
    paths = [str(PACKAGE.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, paths)))


@functools.cache
def stamp() -> dict[str, str]:
    """Versions and commit as one flat mapping; every Parquet file carries it in its metadata."""
    return versions() | {"commit": commit()}


def write_manifest(path: Path, config: dict[str, Any]) -> None:
    """Write the resolved configuration (every id with its parameters), versions and commit as JSON."""
    content = {"config": config, "produced_by": stamp()}
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that can change a result."""
    # Here, because a command that needs no version should not wait for it.
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in TRACKED_VERSIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def commit() -> str:
    """The git commit of the checkout, with `+changes` when files differ from it; `unknown` outside a checkout."""
    try:
        head = _git("rev-parse", "HEAD")
        return head + ("+changes" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(PACKAGE), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()
