"""Read a configuration and explain every mistake in it: the file, the key path, and the nearest valid key.

`config.yaml` is the default experiment; files in `configs/` are overlays that Snakemake merges over it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from helpseek.condition import Condition
from helpseek.config import Bfcl, Config
from helpseek.errors import UserError, nearest

SECRET_KEY = re.compile(r"^(api_?key|token|password|secret|authorization)$", re.IGNORECASE)
# What results/bfcl/ holds beside one folder a model.
BFCL_OWN_FOLDERS = ("package", "cache", "reference", "act_always", "ask_always", "gold", "guess_then_read")
SECRET_VALUE = re.compile(r"^(sk-|hf_|ghp_|xox[bp]-|Bearer )\S{8,}")


def parse_config(raw: Mapping[str, Any], files: Sequence[Path] = ()) -> Config:
    """Validate a merged configuration; `files` are searched to name the one that holds a mistake.

    Raises `UserError` with the file, the key path, what was expected and the nearest valid key.
    """
    _refuse_secrets(raw, files)
    try:
        config = Config.model_validate(dict(raw))
    except ValidationError as error:
        raise UserError(_explain(error, raw, files)) from None
    _check_references(config, files)
    return config


def load_config(*files: Path) -> Config:
    """Read YAML `files`, later ones merged over earlier ones as Snakemake does, and validate the result."""
    merged: dict[str, Any] = {}
    for file in files:
        _merge(merged, read_yaml(file))
    return parse_config(merged, files)


def read_yaml(file: Path) -> dict[str, Any]:
    """A YAML file whose top level is a mapping. Raises `UserError` when it cannot be read as one."""
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise UserError(f"{file}: not UTF-8 text") from None
    except yaml.YAMLError as error:
        raise UserError(f"{file}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise UserError(f"{file}: expected a mapping of keys at the top level, found {type(content).__name__}")
    return content


def _merge(target: dict[str, Any], overlay: Mapping[str, Any]) -> None:
    for key, value in overlay.items():
        if isinstance(value, Mapping) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value


def _explain(error: ValidationError, raw: Mapping[str, Any], files: Sequence[Path]) -> str:
    """One sentence for each mistake that pydantic found."""
    sentences = []
    for mistake in error.errors():
        path = _yaml_path(mistake["loc"], raw)
        name = ".".join(str(part) for part in path)
        where = f"{_origin(path, files)}: `{name}`"
        if mistake["type"] == "extra_forbidden":
            siblings = sorted(_known_keys(mistake["loc"][:-1]))
            hint = nearest(str(path[-1]), siblings) or f" (known here: {', '.join(siblings)})"
            sentences.append(f"{where} is not a known key{hint}")
        elif mistake["type"] == "missing":
            sentences.append(f"{where} is missing")
        elif mistake["type"] in ("literal_error", "enum"):
            choices = re.findall(r"'([^']+)'", str(mistake.get("ctx", {}).get("expected", "")))
            sentences.append(f"{where} must be one of {', '.join(choices)}{nearest(str(mistake['input']), choices)}")
        else:
            sentences.append(f"{where}: {mistake['msg']}, found {mistake['input']!r:.80}")
    return "; ".join(sentences)


def _yaml_path(location: tuple[int | str, ...], raw: Mapping[str, Any]) -> tuple[int | str, ...]:
    """The key path of `location` in the file: without the union tags that pydantic puts in."""
    path: list[int | str] = []
    node: Any = raw
    for number, part in enumerate(location, start=1):
        found, child = _child(node, part)
        if found or number == len(location) or not isinstance(node, Mapping):
            path.append(part)
            node = child
    return tuple(path)


def _child(node: Any, part: int | str) -> tuple[bool, Any]:
    """Whether a parsed YAML node has the child `part`, and that child."""
    if isinstance(node, Mapping) and part in node:
        return True, node[part]
    if isinstance(node, list) and str(part).isdigit() and int(part) < len(node):
        return True, node[int(part)]
    return False, None


def _known_keys(location: Sequence[int | str]) -> set[str]:
    """Keys allowed at `location`, read off the records themselves."""
    schema = Config.model_json_schema()
    node: dict[str, Any] = schema
    for part in location:
        node = _resolve(node, schema)
        if "discriminator" in node:
            node = _resolve({"$ref": node["discriminator"]["mapping"][str(part)]}, schema)
        elif str(part) in node.get("properties", {}):
            node = node["properties"][str(part)]
        else:
            node = node.get("additionalProperties") or next(iter(node.get("patternProperties", {}).values()), {})
    return set(_resolve(node, schema).get("properties", {}))


def _resolve(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


def _origin(path: Sequence[int | str], files: Sequence[Path]) -> str:
    """The last of `files` that holds the longest part of `path`."""
    best, longest = str(files[-1]) if files else "config", 0
    for file in files:
        node: Any = read_yaml(file)
        for depth, part in enumerate(path, start=1):
            found, node = _child(node, part)
            if not found:
                break
            if depth >= longest:
                best, longest = str(file), depth
    return best


def _refuse_secrets(raw: Mapping[str, Any], files: Sequence[Path]) -> None:
    for path, value in _leaves(raw):
        if SECRET_KEY.match(str(path[-1])) or (isinstance(value, str) and SECRET_VALUE.match(value)):
            name = ".".join(str(part) for part in path)
            raise UserError(
                f"{_origin(path, files)}: `{name}` holds a secret; put it in an environment variable and name that "
                "variable in `api_key_env`"
            )


def _leaves(node: Any, path: tuple[int | str, ...] = ()) -> Iterator[tuple[tuple[int | str, ...], Any]]:
    children = node.items() if isinstance(node, Mapping) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        if isinstance(child, Mapping | list):
            yield from _leaves(child, (*path, key))
        else:
            yield (*path, key), child


def _check_references(config: Config, files: Sequence[Path]) -> None:
    """Ids that name an entry of another section must exist there."""
    evaluate = config.evaluate
    named: list[tuple[str, str, Iterable[str]]] = [
        *((f"evaluate.models.{n}", name, config.models) for n, name in enumerate(evaluate.models)),
        *((f"evaluate.tasksets.{n}", name, config.tasksets) for n, name in enumerate(evaluate.tasksets)),
        ("oracle.judge", config.oracle.judge, config.judges),
    ]
    for key, name, section in named:
        if name not in section:
            known = ", ".join(section)
            where = _origin(key.split("."), files)
            raise UserError(
                f"{where}: `{key}` names `{name}`, which is not defined{nearest(name, section)}; known: {known}"
            )
    for n, name in enumerate(evaluate.tasksets):
        if config.tasksets[name].domain != "sql":
            where = _origin(("evaluate", "tasksets", n), files)
            raise UserError(
                f"{where}: `evaluate.tasksets.{n}` names the SWE tasks `{name}`; episodes run on SQL tasks only so far "
                "(`helpseek tasks check` reads both)"
            )
    if evaluate.instruction_style == "harbor" and Condition.SPEC_ONLY in evaluate.conditions:
        where = _origin(("evaluate", "instruction_style"), files)
        raise UserError(f"{where}: `evaluate.instruction_style: harbor` has no wording for `spec_only`; use helpseek")
    _check_bfcl(config.bfcl, files)
    for key in ("models", "tasksets", "conditions"):
        listed = getattr(evaluate, key)
        if not listed or len(set(listed)) < len(listed):
            where = _origin(("evaluate", key), files)
            raise UserError(f"{where}: `evaluate.{key}` needs at least one entry, none of them twice")


def _check_bfcl(bfcl: Bfcl, files: Sequence[Path]) -> None:
    """Ids of models must not be folders of ours; each group compares its prompts with exactly one `plain`."""
    for name in bfcl.results:
        if name in BFCL_OWN_FOLDERS:
            where = _origin(("bfcl", "results", name), files)
            raise UserError(f"{where}: `bfcl.results.{name}`: this name is taken; choose another id")
    groups = {spec.group for spec in bfcl.results.values() if spec.group}
    for group in sorted(groups):
        members = {name: spec.prompt for name, spec in bfcl.results.items() if spec.group == group}
        if list(members.values()).count("plain") != 1:
            where = _origin(("bfcl", "results", next(iter(members))), files)
            found = ", ".join(f"{name}: {prompt}" for name, prompt in members.items())
            raise UserError(
                f"{where}: `bfcl.results`: group `{group}` needs exactly one entry with `prompt: plain`, which the "
                f"others are compared with; found {found}"
            )
