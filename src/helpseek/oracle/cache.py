"""Verdicts of a paid or slow judge, kept on disk by the content they depend on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from helpseek.files import atomic_path


class ContentCache:
    """One JSON file per key in a folder; many processes may share it, as a file appears whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, key: dict[str, Any]) -> dict[str, Any] | None:
        """What was put under `key`, or None; a damaged file counts as absent."""
        try:
            value: dict[str, Any] = json.loads(self._path(key).read_text(encoding="utf-8"))
            return value
        except (FileNotFoundError, ValueError):
            return None

    def put(self, key: dict[str, Any], value: dict[str, Any]) -> None:
        """Keep `value` under `key`."""
        with atomic_path(self._path(key)) as temporary:
            temporary.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")

    def _path(self, key: dict[str, Any]) -> Path:
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        return self.folder / digest[:2] / f"{digest}.json"
