"""BFCL's multi-turn data: installed from its wheel into a folder of its own, checked, and read.

The wheel is installed without its dependencies (half a gigabyte that scoring does not need) and never imported here.
"""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpseek.bfcl.calls import Call, parse_call
from helpseek.errors import InfraError, UserError

WHEEL = "bfcl-eval==2026.3.23"
WHEEL_SHA256 = "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"
# Hash of every file that is read here or whose code is analysed, in the order of `read_files`.
CONTENT_SHA256 = "1472712c139a5927880cd25d2e9da8026d20d830a3f136589786f1209b834f53"
CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
DEFAULT_HOME = Path("results/bfcl")


@dataclass(frozen=True, slots=True)
class Item:
    """One BFCL multi-turn item: a dialogue, its gold trajectory and its world."""

    item_id: str
    category: str
    number: int
    turns: tuple[str, ...]
    """User text of each turn; empty where the user says nothing."""
    gold_texts: tuple[tuple[str, ...], ...]
    """Gold calls of each turn as written."""
    gold: tuple[tuple[Call, ...], ...]
    """The same, parsed, arguments by name."""
    classes: tuple[str, ...]
    """API classes whose functions the item offers."""
    initial_config: Mapping[str, Any]
    withheld: tuple[str, ...]
    """miss_func: functions that are not offered before the turn after the anchor."""
    withheld_until: int | None
    """miss_func: the turn from which they are offered."""

    @property
    def empty_gold_turns(self) -> tuple[int, ...]:
        """Turns without a gold call; one of them is the turn on which the model should ask."""
        return tuple(turn for turn, calls in enumerate(self.gold_texts) if not calls)


@dataclass(frozen=True, slots=True)
class Dataset:
    """All multi-turn items by id, and the functions of each API class with their parameter names in order."""

    items: Mapping[str, Item]
    functions: Mapping[str, Mapping[str, tuple[str, ...]]]

    def tools(self, item: Item) -> frozenset[str]:
        """Functions of the item's classes, the withheld ones included."""
        return frozenset(name for group in item.classes for name in self.functions[group])


def obtain(home: Path = DEFAULT_HOME, wheel: Path | None = None) -> Path:
    """The installed wheel under `home`, installed first unless it is there. Raises as `install`."""
    package = home / "package"
    if package.exists():
        check(package)
    else:
        install(package, wheel)
    return package


def install(package: Path, wheel: Path | str | None = None) -> None:
    """Install the wheel as `package`, whole or not at all, and check every file that matters.

    `wheel`: a downloaded wheel, for machines without a package index. Raises `UserError` when the wheel or an installed
    file has another hash, and `InfraError` when pip cannot get it.
    """
    package.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=package.parent, prefix=f".{package.name}.") as temporary:
        made = Path(temporary) / "package"
        _pip_install(made, Path(wheel) if wheel else None)
        check(made)
        try:
            made.rename(package)
        except OSError:
            # Another process was faster; what it installed must pass the same check.
            check(package)


def _pip_install(target: Path, wheel: Path | None) -> None:
    if wheel is not None and not wheel.is_file():
        raise UserError(f"{wheel}: no such file; expected the wheel of {WHEEL}")
    name = WHEEL if wheel is None else wheel.resolve().as_uri()
    requirements = target.parent / "requirements.txt"
    requirements.write_text(f"{name} --hash=sha256:{WHEEL_SHA256}\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    options = ["--no-deps", "--no-compile", "--only-binary=:all:", "--require-hashes", "--target", str(target)]
    done = subprocess.run([*pip, *options, "-r", str(requirements)], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    reason = " ".join(done.stderr.split())[-400:]
    if "DO NOT MATCH THE HASHES" in done.stderr:
        raise UserError(f"{wheel or WHEEL}: not the published wheel, its hash differs: {reason}")
    raise InfraError(
        f"pip could not install {WHEEL}: {reason}. Without a package index, download its wheel elsewhere "
        f"(`pip download --no-deps {WHEEL}`) and name it with `--wheel` or `bfcl.wheel`"
    )


def check(package: Path) -> None:
    """Raise `UserError` unless the files of `package` are those of the published wheel."""
    sha = hashlib.sha256()
    for path in read_files(package):
        try:
            content = path.read_bytes()
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror}); delete {package} to install it anew") from None
        sha.update(path.name.encode() + b"\0" + content + b"\0")
    if sha.hexdigest() != CONTENT_SHA256:
        raise UserError(f"{package}: its files differ from those of {WHEEL}; delete the folder to install it anew")


def read_files(package: Path) -> list[Path]:
    """Every file of the wheel that this project reads."""
    root = package / "bfcl_eval"
    data = [root / folder / _file_name(name) for folder in ("data", "data/possible_answer") for name in CATEGORIES]
    documents = sorted((root / "data/multi_turn_func_doc").glob("*.json"))
    sources = sorted((root / "eval_checker/multi_turn_eval").rglob("*.py"))
    return [*data, *documents, root / "constants/executable_backend_config.py", *sources]


def _file_name(category: str) -> str:
    return f"BFCL_v4_multi_turn_{category}.json"


def load(package: Path) -> Dataset:
    """Read the four multi-turn categories with their gold trajectories, and the function documents.

    Raises `UserError` naming the file and line of what cannot be read.
    """
    root = package / "bfcl_eval"
    documents = class_documents(root / "constants/executable_backend_config.py")
    rows = {name: list(_rows(root / "data" / _file_name(name))) for name in CATEGORIES}
    answers = {
        row["id"]: row["ground_truth"]
        for name in CATEGORIES
        for row in _rows(root / "data/possible_answer" / _file_name(name))
    }
    classes = sorted({group for part in rows.values() for row in part for group in row["involved_classes"]})
    functions = {
        group: {
            document["name"]: tuple(document["parameters"]["properties"])
            for document in _rows(root / "data/multi_turn_func_doc" / documents[group])
        }
        for group in classes
    }
    parameters = {name: order for group in functions.values() for name, order in group.items()}
    items = {
        row["id"]: _item(row, category, answers[row["id"]], parameters)
        for category, part in rows.items()
        for row in part
    }
    return Dataset(items, functions)


def class_documents(constants: Path) -> dict[str, str]:
    """API class -> its document file, read off the package's constants without importing them."""
    for node in ast.parse(constants.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MULTI_TURN_FUNC_DOC_FILE_MAPPING":
            mapping: dict[str, str] = ast.literal_eval(node.value)
            return mapping
    raise UserError(f"{constants}: MULTI_TURN_FUNC_DOC_FILE_MAPPING is not there; expected the file of {WHEEL}")


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield json.loads(line)
            except ValueError as error:
                raise UserError(f"{path} line {number}: not JSON ({error})") from None


def _item(
    row: Mapping[str, Any], category: str, gold: list[list[str]], parameters: Mapping[str, tuple[str, ...]]
) -> Item:
    missed: dict[str, list[str]] = row.get("missed_function", {})
    return Item(
        item_id=row["id"],
        category=category,
        number=int(row["id"].rpartition("_")[2]),
        turns=tuple("\n".join(message["content"] for message in turn) for turn in row["question"]),
        gold_texts=tuple(tuple(turn) for turn in gold),
        gold=tuple(tuple(parse_call(text, parameters) for text in turn) for turn in gold),
        classes=tuple(row["involved_classes"]),
        initial_config=row["initial_config"],
        withheld=tuple(name for names in missed.values() for name in names),
        withheld_until=int(next(iter(missed))) if missed else None,
    )
