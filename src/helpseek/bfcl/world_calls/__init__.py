"""Which BFCL functions change the world: derived from the shipped code, never listed.

BFCL's state check compares the public attributes of the API objects. A function whose successful path writes one, or
an object reachable from one, changes the world. One that says login, logout or authenticate by name, and writes no
public attribute that any other function writes, only opens or closes a session. Everything else reads.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from helpseek.bfcl.calls import READ, SESSION, WORLD
from helpseek.bfcl.data import class_documents
from helpseek.bfcl.world_calls.static import ClassAnalysis, Write, analyse

SESSION_WORDS = ("login", "logout", "authenticate")
SOURCES = Path("eval_checker/multi_turn_eval/func_source_code")
# Classes of the file mapping that the multi-turn categories do not use.
OTHER_CATEGORIES = ("WebSearchAPI", "MemoryAPI")


@dataclass(frozen=True, slots=True)
class FunctionEffect:
    """What one public function of an API class does."""

    class_name: str
    function: str
    kind: str
    """world, session or read."""
    only_with: str | None
    """Parameter without which the function only reads."""
    reason: str
    writes: tuple[str, ...]
    """Public attributes it may change."""


def derive(package: Path) -> list[FunctionEffect]:
    """The effect of every public function of the multi-turn API classes, class by class in the order of the source.

    `package` holds `bfcl_eval/`. Raises `UserError` when its constants cannot be read.
    """
    package_root = package / "bfcl_eval"
    documents = class_documents(package_root / "constants/executable_backend_config.py")
    effects = []
    for class_name, document in documents.items():
        if not class_name.startswith(OTHER_CATEGORIES):
            source = package_root / SOURCES / Path(document).with_suffix(".py")
            effects += class_effects(source.read_text(encoding="utf-8"), class_name)
    return effects


def class_effects(source: str, class_name: str) -> list[FunctionEffect]:
    """The effects of one class from the text of its file."""
    analysis = analyse(ast.parse(source), class_name)
    public = {name: method for name, method in analysis.methods.items() if not name.startswith("_")}
    writes = {name: _attributes(analysis, method) for name, method in public.items()}
    return [_effect(class_name, name, writes, public[name]) for name in public]


def _attributes(analysis: ClassAnalysis, method: ast.FunctionDef) -> list[Write]:
    found = analysis.summary(method, own=True).writes
    return sorted(
        (write for write in found if not write.root.startswith("parameter ")),
        key=lambda write: (write.line, write.root),
    )


def _effect(class_name: str, name: str, writes: Mapping[str, list[Write]], method: ast.FunctionDef) -> FunctionEffect:
    compared = [write for write in writes[name] if not write.root.startswith("_")]
    if not compared:
        private = sorted({write.root for write in writes[name]})
        reason = f"writes only {', '.join(private)}, which is not compared" if private else "returns values only"
        return FunctionEffect(class_name, name, READ, None, reason, ())
    public = tuple(dict.fromkeys(write.root for write in compared))
    places = ", ".join(f"{root} (line {next(w.line for w in compared if w.root == root)})" for root in public)
    others = {write.root for other, found in writes.items() if not _is_session_name(other) for write in found}
    if _is_session_name(name) and not others & set(public):
        return FunctionEffect(class_name, name, SESSION, None, f"writes only the session: {places}", public)
    needed = frozenset.intersection(*(write.given for write in compared)) & _optional(method)
    only_with = min(needed) if needed else None
    when = f", when {only_with} is given" if only_with else ""
    return FunctionEffect(class_name, name, WORLD, only_with, f"writes {places}{when}", public)


def _is_session_name(name: str) -> bool:
    return any(word in name.lower() for word in SESSION_WORDS)


def _optional(method: ast.FunctionDef) -> frozenset[str]:
    """Parameters that a call may leave out and that are then None."""
    arguments = method.args.args
    with_default = arguments[len(arguments) - len(method.args.defaults) :]
    pairs = zip(with_default, method.args.defaults, strict=True)
    return frozenset(a.arg for a, value in pairs if isinstance(value, ast.Constant) and value.value is None)
