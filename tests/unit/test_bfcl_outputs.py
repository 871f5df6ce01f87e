"""Reading output directories: every layout, every oddity, and never another item's decision."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpseek.bfcl.decisions import decide, observe
from helpseek.bfcl.output_files import find_models
from helpseek.bfcl.outputs import read_outputs
from helpseek.bfcl.scores import coverage, within
from helpseek.errors import UserError
from tests.unit.bfcl_builders import gold_rows, write_category, write_model

V4 = "BFCL_v4_multi_turn_{}_result.json"


def found(folder):
    return {category: path.name for category, path in find_models(folder)[0].categories.items()}


def test_v4_nested_and_flat_and_v3(tmp_path):
    for name, sub in ((V4, "multi_turn"), (V4, ""), ("BFCL_v3_multi_turn_{}_result.json", "")):
        folder = tmp_path / f"m{len(list(tmp_path.iterdir()))}"
        for category in ("base", "miss_func", "miss_param", "long_context"):
            write_category(folder / sub, category, [], name)
        assert found(folder) == {c: name.format(c) for c in ("base", "miss_func", "miss_param")}
        assert find_models(folder)[0].model == folder.name
        if sub:
            assert find_models(folder / sub)[0].model == folder.name


def test_foreign_names_logs_scores_and_translations(tmp_path):
    write_category(tmp_path, "base", [], "my_multi_turn_{}.jsonl")
    write_category(tmp_path, "miss_func", [], V4)
    write_category(tmp_path, "miss_func", [], "BFCL_v4_multi_turn_{}_result-copy.json")
    write_category(tmp_path, "miss_param", [], "BFCL_v4_zh_multi_turn_{}_result.json")
    write_category(tmp_path, "miss_param", [], "BFCL_v4_multi_turn_{}_score.json")
    write_category(tmp_path, "miss_param", [], "BFCL_v4_multi_turn_{}_log.json")
    assert found(tmp_path) == {"base": "my_multi_turn_base.jsonl", "miss_func": V4.format("miss_func")}
    assert "result-copy" in find_models(tmp_path)[0].notes[0]


def test_names_that_say_nothing_are_known_by_their_ids(tmp_path):
    write_category(tmp_path, "base", [{"id": "multi_turn_base_0", "result": []}], "a.json")
    write_category(tmp_path, "base", [{"id": "simple_0", "result": []}], "b.json")
    assert found(tmp_path) == {"base": "a.json"}


def test_a_folder_of_models(tmp_path):
    for model in ("b", "a"):
        write_category(tmp_path / model / "multi_turn", "base", [])
    write_category(tmp_path / "score" / "a" / "multi_turn", "base", [], "BFCL_v4_multi_turn_{}_score.json")
    assert [files.model for files in find_models(tmp_path)] == ["a", "b"]


def test_an_archive_inside_a_model_is_not_the_model(tmp_path):
    write_category(tmp_path / "multi_turn", "base", [])
    write_category(tmp_path / "multi_turn-archive", "base", [])
    (files,) = find_models(tmp_path)
    assert files.categories["base"].parent.name == "multi_turn"
    assert "multi_turn-archive" in files.notes[0]


def test_two_equally_good_files(tmp_path):
    write_category(tmp_path, "base", [], V4)
    write_category(tmp_path, "base", [], "BFCL_v3_multi_turn_{}_result.json")
    with pytest.raises(UserError, match="both hold base results; keep one"):
        find_models(tmp_path)


@pytest.mark.parametrize("name", ["absent", "empty", "file.json"])
def test_no_directory_or_nothing_in_it(tmp_path, name):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.json").write_text("{}")
    with pytest.raises(UserError, match=r"no such directory|no multi-turn result file"):
        find_models(tmp_path / name)


def statuses(index, folder):
    outputs = read_outputs(find_models(folder)[0], index.anchors(), index.parameters)
    return {one.item_id: one for both in observe(index, outputs) for one in (both.base, both.miss)}, outputs


def decisions(index, folder):
    outputs = read_outputs(find_models(folder)[0], index.anchors(), index.parameters)
    return {
        (both.pair.pair_id, name): decide(getattr(both, name), both.pair, index)
        for both in observe(index, outputs)
        for name in ("base", "miss")
    }


def test_what_is_not_there_is_told_apart(bfcl_index, bfcl_dataset, tmp_path):
    error = "Error during inference: Holdout turn should not have user message."

    def change(category, rows):
        if category == "miss_func":
            by_id = {row["id"].rpartition("_")[2]: row for row in rows}
            by_id["37"]["result"] = error
            by_id["38"]["result"] = by_id["38"]["result"][:0]
            by_id["50"]["result"] = None
            del by_id["54"]
            return [*by_id.values(), b"", b"   ", b'{"id": "multi_turn_miss_func_54", "resu', b"\xff\xfe", b"5"]
        return rows

    sides, outputs = statuses(bfcl_index, write_model(tmp_path, bfcl_dataset, change))
    side = {number: sides[f"multi_turn_miss_func_{number}"] for number in (37, 38, 50, 54, 55)}
    assert [one.status for one in side.values()] == ["inference_error", "not_reached", "missing", "missing", "reached"]
    assert side[37].detail == error
    assert [problem.kind for problem in outputs.problems] == [
        "invalid_row",
        "unreadable_line",
        "unreadable_line",
        "invalid_row",
    ]
    covered = coverage(within(observe(bfcl_index, outputs), "certified"))
    assert (covered.unreached_base, covered.unreached_miss, covered.inference_errors) == (0, 4, 1)


def test_duplicates_count_once_when_they_agree(bfcl_index, bfcl_dataset, tmp_path):
    rows = gold_rows(bfcl_dataset, "miss_func")
    broken = {"id": rows[31]["id"], "result": "Error during inference: 500"}
    other = rows[31] | {"result": [[[{"mkdir": "{}"}]]] * 9}
    for name, extra, status in (("a", rows[31], "reached"), ("b", broken, "reached"), ("c", other, "conflict")):
        folder = write_model(
            tmp_path / name, bfcl_dataset, lambda c, r, extra=extra: [*r, extra] if c == "miss_func" else r
        )
        assert statuses(bfcl_index, folder)[0][rows[31]["id"]].status == status


def test_a_json_array_a_byte_order_mark_and_windows_lines(bfcl_index, bfcl_dataset, tmp_path):
    plain = decisions(bfcl_index, write_model(tmp_path / "plain", bfcl_dataset))
    odd = write_model(tmp_path / "odd", bfcl_dataset) / "multi_turn"
    base, func, param = (odd / V4.format(category) for category in ("base", "miss_func", "miss_param"))
    base.write_text(json.dumps([json.loads(line) for line in base.read_text().splitlines()], indent=1))
    func.write_bytes(b"\xef\xbb\xbf" + func.read_bytes())
    param.write_bytes(param.read_bytes().replace(b"\n", b"\r\n"))
    assert decisions(bfcl_index, odd.parent) == plain


def test_a_key_that_occurs_twice_is_not_guessed(bfcl_index, bfcl_dataset, tmp_path):
    twice = b'{"id": "multi_turn_miss_func_37", "id": "multi_turn_miss_func_38", "result": []}'
    folder = write_model(tmp_path, bfcl_dataset, lambda c, r: [twice, *r] if c == "miss_func" else r)
    sides, outputs = statuses(bfcl_index, folder)
    assert sides["multi_turn_miss_func_38"].status == "reached"
    assert "occurs twice" in outputs.problems[0].detail


def test_the_inference_log_decides_for_strings(bfcl_index, bfcl_dataset, tmp_path):
    """The same prose: decoded by the handler it is a call, refused by it it is none."""
    pair = next(pair for pair in bfcl_index.pairs if pair.within(("no_world_call",)) and pair.kind == "miss_param")
    call = pair.world_calls[0]

    def with_log(entry):
        def change(category, rows):
            for row in rows:
                if row["id"] == pair.pair_id:
                    row["result"][pair.anchor] = [f"Sure: [{call}]"]
                    log = [{"step_0": []} for _ in row["result"]]
                    log[pair.anchor] = {"step_0": [{"role": "assistant"}, {"role": "handler_log", **entry}]}
                    row["inference_log"] = [[{"state": 1}], *log]
            return rows

        return change

    acted = {
        name: decisions(bfcl_index, write_model(tmp_path / name, bfcl_dataset, with_log(entry)))[pair.pair_id, "miss"]
        for name, entry in (("decoded", {"model_response_decoded": [call]}), ("refused", {"error": "invalid syntax"}))
    }
    assert acted["decoded"].acted is True
    assert acted["refused"].acted is False


@st.composite
def harm(draw):
    """One way to spoil a line."""
    kind = draw(st.sampled_from(["truncate", "bytes", "swap", "nest", "huge", "number", "noise"]))
    return kind, draw(st.integers(0, 10_000)), draw(st.binary(min_size=1, max_size=6))


def spoil(line, kind, place, noise):
    half = place % len(line)
    row = json.loads(line)
    other = [5, None, {"a": [row["result"]]}, "text", True][place % 5]
    return {
        "truncate": line[:half],
        "bytes": line[:half] + b"\xff\xc0" + line[half:],
        "swap": json.dumps(row | {"result": other}).encode(),
        "nest": line.replace(b'"result": ', b'"result": ' + b"[" * (place % 3000), 1),
        "huge": line.replace(b'"Done."', b'"' + b"[mkdir(" * (1 + place % 20_000) + b'"', 1),
        "number": line.replace(b'"Done."', b"9" * (1 + place), 1),
        "noise": noise.replace(b"\n", b"") or b"x",
    }[kind]


@given(spoiled=st.lists(st.tuples(st.integers(0, 199), harm()), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_spoiled_line_costs_its_own_item_only(spoiled, bfcl_index, bfcl_dataset, tmp_path_factory):
    folder = write_model(tmp_path_factory.mktemp("spoiled"), bfcl_dataset)
    plain = decisions(bfcl_index, folder)
    file = folder / "multi_turn" / V4.format("miss_param")
    lines = file.read_bytes().splitlines()
    harmed = set()
    for number, (kind, place, noise) in spoiled:
        lines[number] = spoil(gold_line(bfcl_dataset, number), kind, place, noise)
        harmed.add(f"multi_turn_miss_param_{number}")
    file.write_bytes(b"\n".join(lines))
    after = decisions(bfcl_index, folder)
    assert {key: value for key, value in after.items() if key[0] not in harmed or key[1] == "base"} == {
        key: value for key, value in plain.items() if key[0] not in harmed or key[1] == "base"
    }
    assert set(after) == set(plain)


def gold_line(dataset, number):
    return json.dumps(gold_rows(dataset, "miss_param")[number]).encode()
