"""The index of pairs that commands use: made from the wheel the first time, then read in milliseconds."""

from __future__ import annotations

import sys
from pathlib import Path

from helpseek.bfcl.index import Index, read_index
from helpseek.provenance import content_digest, digest

# What the index is made from; a change makes it anew.
INDEX_CODE = ("bfcl/data", "bfcl/calls", "bfcl/pairs", "bfcl/exclusions", "bfcl/index", "bfcl/world_calls")
CURATED = Path(__file__).with_name("exclusions.yaml")


def default_index(home: Path, wheel: Path | None = None) -> Index:
    """The index under the default judgement calls, kept under `home`. Raises as `data.obtain`."""
    path = home / "cache" / f"pairs-{digest(*INDEX_CODE)}-{content_digest(CURATED)}.json"
    if not path.exists():
        # Here, because making the index imports far more than reading it.
        from helpseek.bfcl.build import build_default_index

        sys.stderr.write(f"bfcl: making the index of pairs in {home} (once)\n")
        build_default_index(path, home, wheel)
    return read_index(path)
