"""BFCL's own score of the same items, read off its score files where they are.

A score file lists failed items only: an item passes when it was scored and is not listed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from helpseek.bfcl.output_files import SCORED_CATEGORIES, ModelFiles
from helpseek.errors import UserError


@dataclass(frozen=True, slots=True)
class OfficialScores:
    """Accuracy by category as the files say it, and pass or fail by item id."""

    accuracy: Mapping[str, float]
    passed: Mapping[str, bool]

    def share(self, items: Iterable[str]) -> float | None:
        """Share of distinct `items` that passed; None when one was not scored."""
        distinct = set(items)
        if not distinct or not distinct <= self.passed.keys():
            return None
        return sum(self.passed[item] for item in distinct) / len(distinct)


def find_scores(files: ModelFiles, folder: Path | None = None) -> Path | None:
    """The score folder of a model: `folder` when given, else where `bfcl evaluate` writes it beside `result/`."""
    name = files.folder.name
    places = [folder, folder / name] if folder else [files.folder / "score"]
    if folder is None and files.folder.parent.name == "result":
        places.append(files.folder.parent.parent / "score" / name)
    return next((place for place in places if place and any(_score_files(place, "base"))), None)


def score_files(folder: Path) -> list[Path]:
    """All score files of the scored categories under a model's score folder."""
    return [path for category in SCORED_CATEGORIES for path in _score_files(folder, category)]


def _score_files(folder: Path, category: str) -> list[Path]:
    pattern = re.compile(rf"BFCL_v\d+_multi_turn_{category}_score\.json")
    found = [path for place in (folder, folder / "multi_turn") if place.is_dir() for path in sorted(place.iterdir())]
    return [path for path in found if pattern.fullmatch(path.name)]


def read_scores(folder: Path, items: Mapping[str, Iterable[str]]) -> OfficialScores:
    """Read the score files under `folder`; `items`: the scored items of each category, those with an output.

    Raises `UserError` for a file that is not a score file, or that scored another number of items.
    """
    accuracy: dict[str, float] = {}
    passed: dict[str, bool] = {}
    for category in SCORED_CATEGORIES:
        files = _score_files(folder, category)
        if len(files) > 1:
            raise UserError(f"{folder}: {files[0].name} and {files[1].name} both score {category}; keep one of them")
        if files:
            accuracy[category], failed, total = _read(files[0])
            scored = set(items.get(category, ()))
            if len(scored) != total:
                raise UserError(
                    f"{files[0]}: scores {total} items, but the outputs hold {len(scored)}; evaluate these outputs anew"
                )
            passed |= {item: item not in failed for item in scored}
    return OfficialScores(accuracy, passed)


def _read(path: Path) -> tuple[float, set[str], int]:
    """Accuracy, failed ids and number of scored items of one file."""
    try:
        head, *rest = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
        return float(head["accuracy"]), {row["id"] for row in rest}, int(head["total_count"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not a BFCL score file ({error}); delete it or run `bfcl evaluate` again") from None
