"""Would jobs go through DRMAA? Only for a profile that does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from helpseek.cluster.doctor.findings import Finding, error, ok
from helpseek.cluster.doctor.profile import Profile
from helpseek.cluster.native import native_specification, system_of
from helpseek.cluster.scheduler import ask
from helpseek.errors import UserError

VARIABLE = "DRMAA_LIBRARY_PATH"
# In a process of its own: a library may abort, or wait for its scheduler for ever.
PROBE = "import drmaa; session = drmaa.Session(); session.initialize(); print(session.drmsInfo); session.exit()"
PROBE_TIMEOUT_S = 20


def check_drmaa(profile: Profile) -> Iterator[Finding]:
    """Findings about the DRMAA library and the native options of the profile's jobs."""
    if profile.executor not in ("helpseek-drmaa", "drmaa"):
        return
    library = os.environ.get(VARIABLE, "")
    where = "export it with the path of your scheduler's libdrmaa.so (slurm-drmaa's, or Grid Engine's)"
    if not library:
        yield error("DRMAA library", f"{VARIABLE} is not set", where)
        return
    if not Path(library).is_file():
        yield error("DRMAA library", f"{VARIABLE}={library}: no such file", where)
        return
    answer = ask(sys.executable, "-c", PROBE, timeout_s=PROBE_TIMEOUT_S)
    if not answer.ok:
        said = answer.text[-250:] or f"it ended with code {answer.code}"
        fix = "run this where jobs are submitted, with the scheduler's environment loaded"
        if "TLS" in answer.text:
            fix = "export GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384"
        yield error("DRMAA library", f"{library} does not reach a scheduler: {said}", fix)
        return
    yield ok("DRMAA library", f"{library}: {answer.text}")
    try:
        system = system_of(profile.resources, answer.text)
        for subject, gpus in (("jobs", 0), ("GPU jobs", 1)):
            native = native_specification({**profile.resources, "gpu": gpus}, 1, "log/%j.log", system=system)
            yield ok(subject, f"native options: {native}")
    except UserError as mistake:
        yield error("native options", str(mistake), f"change it in `default-resources` of {profile.path}")
