"""What produced a result: a digest of the package modules it depends on, versions, the commit."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

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


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that can change a result."""
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
