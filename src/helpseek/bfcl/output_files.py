"""Find the result files of models under a directory, in any layout that BFCL has used."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from helpseek.errors import UserError

# long_context holds no should-ask turn, so it is not read.
SCORED_CATEGORIES = ("base", "miss_func", "miss_param")
_CATEGORY = r"multi_turn_(base|miss_func|miss_param)"
OFFICIAL = re.compile(rf"BFCL_v\d+_{_CATEGORY}_result\.jsonl?")
# Translations of BFCL put a language before the category; scores and logs lie beside results.
NAMED_LIKE = re.compile(rf"(?!.*zh_multi_turn)(?!.*_(?:score|log)\b).*{_CATEGORY}(?![a-z]).*\.jsonl?")
FIRST_ID = re.compile(rf'\s*\[?\s*{{\s*"id"\s*:\s*"{_CATEGORY}_\d+"')


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The result files of one model: category -> file. `notes`: what else was found and left out."""

    model: str
    folder: Path
    categories: Mapping[str, Path]
    notes: tuple[str, ...] = ()


def find_models(directory: Path) -> list[ModelFiles]:
    """Models under `directory`: itself when it holds result files (flat or in `multi_turn/`), else folders that do.

    Raises `UserError` when there is no result file, or two equally good ones for one category.
    """
    if not directory.is_dir():
        raise UserError(f"{directory}: no such directory; expected a folder of BFCL results, such as result/MODEL")
    directory = directory.resolve()
    groups = _grouped(directory, _by_name) or _grouped(directory, _by_content)
    if not groups:
        raise UserError(
            f"{directory}: no multi-turn result file; expected names like BFCL_v4_multi_turn_base_result.json, "
            "or JSON lines whose ids begin with multi_turn_"
        )
    own = [folder for folder in groups if folder in (directory, directory.parent)]
    if own:
        others = sorted(str(folder.relative_to(directory)) for folder in groups if folder not in own)
        notes = (f"not scored: {', '.join(others)} (name them to score them)",) if others else ()
        return [_model(own[0], directory, groups[own[0]], notes)]
    return [_model(folder, directory, files, ()) for folder, files in sorted(groups.items())]


def _grouped(directory: Path, category_of: Callable[[Path], str]) -> dict[Path, list[tuple[str, Path]]]:
    """Folder of a model -> its (category, file) pairs."""
    groups: dict[Path, list[tuple[str, Path]]] = defaultdict(list)
    for path in _files(directory):
        category = category_of(path)
        if category:
            folder = path.parent.parent if path.parent.name == "multi_turn" else path.parent
            groups[folder].append((category, path))
    return groups


def _files(directory: Path) -> Iterator[Path]:
    for folder, subfolders, names in os.walk(directory, followlinks=True):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith(".") and name != "score")
        yield from (Path(folder) / name for name in sorted(names) if name.endswith((".json", ".jsonl")))


def _by_name(path: Path) -> str:
    found = OFFICIAL.fullmatch(path.name) or NAMED_LIKE.fullmatch(path.name)
    return found.group(1) if found else ""


def _by_content(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(4096).decode("utf-8", errors="replace").lstrip("\ufeff")
    found = FIRST_ID.match(start)
    return found.group(1) if found else ""


def _model(folder: Path, directory: Path, files: list[tuple[str, Path]], notes: tuple[str, ...]) -> ModelFiles:
    chosen = {}
    left_out = list(notes)
    for category in SCORED_CATEGORIES:
        candidates = [path for name, path in files if name == category]
        official = [path for path in candidates if OFFICIAL.fullmatch(path.name)]
        best = official or candidates
        if len(best) > 1:
            names = " and ".join(str(path) for path in best)
            raise UserError(f"{folder}: {names} both hold {category} results; keep one of them in the directory")
        if best:
            chosen[category] = best[0]
            ignored = [path.name for path in candidates if path not in best]
            left_out += [f"not read: {', '.join(ignored)}"] if ignored else []
    inside = folder != directory and folder.is_relative_to(directory)
    name = str(folder.relative_to(directory)) if inside else folder.name
    return ModelFiles(name, folder, chosen, tuple(left_out))
