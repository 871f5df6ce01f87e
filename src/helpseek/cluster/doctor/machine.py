"""What every run needs of this machine: Python and packages, disk, links, a sandbox."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from helpseek.cluster.doctor.findings import Finding, error, ok, skipped, warning
from helpseek.cluster.doctor.profile import Profile
from helpseek.cluster.master import is_locked, living_master
from helpseek.cluster.scheduler import ask

PLUGINS = {
    "helpseek-slurm": "snakemake-executor-plugin-slurm",
    "slurm": "snakemake-executor-plugin-slurm",
    "helpseek-drmaa": "snakemake-executor-plugin-drmaa",
    "drmaa": "snakemake-executor-plugin-drmaa",
}
ENOUGH_GB, LEAST_GB = 5.0, 1.0
SANDBOX = ("bwrap", "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "true")


def check_python(profile: Profile) -> Iterator[Finding]:
    """Python, Snakemake, and the profile's executor."""
    yield ok("Python", f"{sys.version.split()[0]} in {sys.prefix}")
    for package in ("snakemake", PLUGINS.get(profile.executor, "")):
        if not package:
            continue
        try:
            yield ok(package, importlib.metadata.version(package))
        except importlib.metadata.PackageNotFoundError:
            yield error(package, "not installed here", f"pip install -c constraints.txt {package}")


def check_storage(folder: Path) -> Iterator[Finding]:
    """Disk space, links between files, temporary files, and a lock that was left."""
    for subject, path in (("disk", folder), ("temporary files", Path(tempfile.gettempdir()))):
        free = shutil.disk_usage(path).free / 1e9
        found = f"{free:.1f} GB free in {path.resolve()}"
        if free >= ENOUGH_GB:
            yield ok(subject, found)
        else:
            move = (
                "set TMPDIR to a larger folder" if path != folder else "free some, or run with `--directory` elsewhere"
            )
            yield (warning if free >= LEAST_GB else error)(subject, found, move)
    named = os.environ.get("TMPDIR")
    if named and not Path(named).is_dir():
        yield error("TMPDIR", f"{named} is no folder", f"mkdir -p {named}, or unset TMPDIR")
    yield _check_links(folder)
    if is_locked(folder) and living_master(folder) is None:
        fix = "`helpseek jobs` shows what it left; then `helpseek jobs adopt`, or `snakemake --unlock`"
        yield warning("lock", "a Snakemake that is gone has locked this folder", fix)


def _check_links(folder: Path) -> Finding:
    """Shards are locked by hard links."""
    try:
        with tempfile.TemporaryDirectory(prefix=".helpseek-doctor-", dir=folder) as probe:
            one = Path(probe, "one")
            one.touch()
            os.link(one, Path(probe, "two"))
    except OSError as mistake:
        fix = "run with `--directory` in a folder that you may write to and whose file system has hard links"
        return error("working directory", f"{folder.resolve()}: {mistake.strerror}", fix)
    return ok("working directory", f"{folder.resolve()}: writable, with hard links")


def check_sandbox(needed: bool) -> Iterator[Finding]:
    """Whether an agent's shell can be confined; `needed` by the configuration's task sets."""
    report = error if needed else warning
    use = "" if needed else "; needed only for SWE tasks"
    if sys.platform != "linux":
        yield skipped("sandbox", f"bubblewrap exists for Linux only{use}")
    elif shutil.which("bwrap") is None:
        fix = "install bubblewrap (Debian: `apt-get install bubblewrap`), or use the container envs/helpseek.def"
        yield report("sandbox", f"bwrap not found{use}", fix)
    else:
        answer = ask(*SANDBOX, timeout_s=10)
        if answer.ok:
            yield ok("sandbox", "bwrap confines a process")
            return
        fix = (
            "allow user namespaces: `sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000`, and on "
            "Ubuntu `kernel.apparmor_restrict_unprivileged_userns=0`; or ask for a setuid bwrap"
        )
        yield report("sandbox", f"bwrap cannot make one: {answer.text[:200]}{use}", fix)
