"""The configuration: defaults, overlays, and one clear paragraph for each mistake."""

from pathlib import Path

import pytest
import yaml

from helpseek.config_file import load_config
from helpseek.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = ROOT / "config.yaml"


def test_the_default_experiment_is_valid():
    config = load_config(DEFAULT)
    assert config.evaluate.attempts == 3
    assert config.oracle.per_task_cap is None


@pytest.mark.parametrize("overlay", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_overlay_is_valid(overlay):
    assert load_config(DEFAULT, overlay).evaluate.models


MISTAKES = {
    "misspelt key": ("evaluate: {atempts: 3}", ["`evaluate.atempts`", "did you mean `attempts`"]),
    "misspelt key at the top": ("orakle: {}", ["`orakle`", "did you mean `oracle`"]),
    "misspelt key in a model": (
        "models: {m: {backend: endpoint, base_url: x, model: y, tempratur: 1}}",
        ["`models.m.tempratur`", "not a known key", "timeout_s"],
    ),
    "misspelt key under sampling": (
        "models: {m: {backend: endpoint, base_url: x, model: y, sampling: {temprature: 1}}}",
        ["`models.m.sampling.temprature`", "did you mean `temperature`"],
    ),
    "unknown backend": ("models: {m: {backend: endpiont}}", ["`models.m", "endpoint"]),
    "missing key": ("models: {m: {backend: endpoint, model: y}}", ["`models.m.base_url` is missing"]),
    "unknown condition": ("evaluate: {conditions: [tol]}", ["`evaluate.conditions.0`", "did you mean `tool`"]),
    "unknown split": ("evaluate: {split: heldout}", ["`evaluate.split`", "did you mean `held_out`"]),
    "number as text": ("evaluate: {attempts: many}", ["`evaluate.attempts`", "integer", "'many'"]),
    "zero attempts": ("evaluate: {attempts: 0}", ["`evaluate.attempts`", "greater than or equal to 1"]),
    "share above one": ("selection: {max_blocked_pass_rate: 5}", ["`selection.max_blocked_pass_rate`", "less than"]),
    "undefined model": ("evaluate: {models: [oracle_aksr]}", ["`evaluate.models.0`", "did you mean `oracle_asker`"]),
    "undefined task set": ("evaluate: {tasksets: [nope]}", ["`evaluate.tasksets.0`", "known: generated_sql"]),
    "undefined judge": ("oracle: {judge: lexicl}", ["`oracle.judge`", "did you mean `lexical`"]),
    "model named twice": ("evaluate: {models: [never_ask, never_ask]}", ["`evaluate.models`", "twice"]),
    "no model": ("evaluate: {models: []}", ["`evaluate.models`", "at least one"]),
    "id with a slash": ("models: {a/b: {backend: reference, policy: guesser}}", ["a/b", "pattern"]),
    "id with a space": ("tasksets: {my tasks: {kind: generated}}", ["my tasks", "pattern"]),
    "SWE tasks in a sweep": (
        "tasksets: {s: {kind: files, domain: swe, path: x}}\nevaluate: {tasksets: [s]}",
        ["`evaluate.tasksets.0`", "SQL tasks only"],
    ),
    "a condition the release has no words for": (
        "evaluate: {instruction_style: harbor, conditions: [spec_only]}",
        ["`evaluate.instruction_style: harbor`", "spec_only"],
    ),
    "secret by name": (
        "models: {m: {backend: endpoint, base_url: x, model: y, api_key: abc}}",
        ["`models.m.api_key` holds a secret", "api_key_env"],
    ),
    "secret by value": (
        "models: {m: {backend: endpoint, base_url: x, model: y, api_key_env: sk-0123456789abcdef}}",
        ["holds a secret", "environment variable"],
    ),
    "section is a list": ("oracle: [judge]", ["`oracle`"]),
    "not YAML": ("evaluate: {attempts: 3", ["not valid YAML"]),
    "not a mapping": ("- a\n- b", ["expected a mapping", "list"]),
    "empty file": ("", ["expected a mapping", "NoneType"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_clear_paragraph(name, tmp_path):
    text, expected = MISTAKES[name]
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text(text)
    with pytest.raises(UserError) as caught:
        load_config(DEFAULT, overlay)
    message = str(caught.value)
    assert all(part in message for part in [*expected, str(overlay)]), message
    assert "\n" not in message
    assert "sk-0123" not in message


def test_a_file_that_is_not_text(tmp_path):
    overlay = tmp_path / "overlay.yaml"
    overlay.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not UTF-8"):
        load_config(DEFAULT, overlay)
    with pytest.raises(UserError, match="cannot be read"):
        load_config(DEFAULT, tmp_path)


def test_the_file_with_the_mistake_is_named_among_several(tmp_path):
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(yaml.safe_dump({"seed": 3}))
    bad.write_text(yaml.safe_dump({"evaluate": {"shard": 2}}))
    with pytest.raises(UserError, match=r"bad\.yaml: `evaluate\.shard` .*did you mean `shards`"):
        load_config(DEFAULT, bad, good)
