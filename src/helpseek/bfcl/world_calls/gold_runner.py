"""Run inside a child process: execute gold calls on BFCL's own API classes and say what each changed.

Standard input: JSON `{"package", "items": [{"item_id", "classes", "initial_config", "long_context", "calls"}]}`, calls
as turns of `[name, arguments]`. Standard output: one JSON line an item. Imports nothing of this project.
"""

from __future__ import annotations

import copy
import importlib
import json
import sys
from typing import Any


def main() -> None:
    request = json.load(sys.stdin)
    sys.path.insert(0, request["package"])
    constants = importlib.import_module("bfcl_eval.constants.executable_backend_config")
    for item in request["items"]:
        objects = {}
        for name in item["classes"]:
            objects[name] = getattr(importlib.import_module(constants.CLASS_FILE_PATH_MAPPING[name]), name)()
            if name not in constants.STATELESS_CLASSES:
                config = copy.deepcopy(item["initial_config"].get(name, {}))
                objects[name]._load_scenario(config, long_context=item["long_context"])
        turns = [[run(objects, name, arguments) for name, arguments in turn] for turn in item["calls"]]
        sys.stdout.write(json.dumps({"item_id": item["item_id"], "turns": turns}) + "\n")


def run(objects: dict[str, Any], name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Execute one call: whether compared state changed, what it returned, and why it failed if it did."""
    before = snapshot(objects)
    try:
        method = next(getattr(obj, name) for obj in objects.values() if hasattr(obj, name))
        value = method(**arguments)
        failure = refusal(value)
    except Exception as error:  # noqa: BLE001  whatever the code under test raises is its answer
        value, failure = None, f"{type(error).__name__}: {error}"
    return {"function": name, "changed": snapshot(objects) != before, "failure": failure, "returned": repr(value)}


def refusal(value: Any) -> str:
    """Why a returned value says that the call did not work; empty when it did."""
    if not isinstance(value, dict):
        return ""
    if "error" in value:
        return str(value["error"])
    return next((f"{key} is False" for key, flag in value.items() if key.endswith("_status") and flag is False), "")


def snapshot(value: Any, above: tuple[int, ...] = ()) -> Any:
    """Public state as plain data: what the official state check compares."""
    if isinstance(value, dict):
        return {str(key): snapshot(part, above) for key, part in value.items()}
    if isinstance(value, list | tuple | set):
        return [snapshot(part, above) for part in value]
    if hasattr(value, "__dict__"):
        if id(value) in above:
            return "above"
        public = {key: part for key, part in vars(value).items() if not key.startswith("_")}
        return {key: snapshot(part, (*above, id(value))) for key, part in public.items()}
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


if __name__ == "__main__":
    main()
