"""BFCL's data: installed whole, checked by hash, and refused when it is not what was published."""

import shutil
import subprocess
import sys

import pytest

from helpseek.bfcl import data
from helpseek.bfcl.index import read_index, write_index
from helpseek.errors import InfraError, UserError


def test_the_four_categories_and_all_functions(bfcl_dataset):
    assert len(bfcl_dataset.items) == 800
    assert sum(len(group) for group in bfcl_dataset.functions.values()) == 128
    item = bfcl_dataset.items["multi_turn_miss_func_0"]
    assert (item.withheld, item.withheld_until, item.turns[3]) == (("sort",), 3, "")
    assert item.gold[3][0].arguments == {"file_name": "final_report.pdf"}


def test_positional_arguments_get_their_names(bfcl_dataset):
    calls = [call for item in bfcl_dataset.items.values() for turn in item.gold for call in turn]
    assert not [call for call in calls if any(name.isdigit() for name in call.arguments)]


def test_a_changed_file_is_refused(bfcl_package, tmp_path):
    copy = shutil.copytree(bfcl_package, tmp_path / "package")
    data.check(copy)
    file = copy / "bfcl_eval/data/BFCL_v4_multi_turn_base.json"
    file.write_text(file.read_text().replace("final_report", "final_rapport", 1))
    with pytest.raises(UserError, match=r"differ from those of bfcl-eval==2026\.3\.23; delete"):
        data.check(copy)
    file.unlink()
    with pytest.raises(UserError, match="cannot be read"):
        data.check(copy)


def test_a_wheel_that_is_not_there_or_another_one(tmp_path):
    with pytest.raises(UserError, match="no such file; expected the wheel"):
        data.obtain(tmp_path, tmp_path / "absent.whl")
    other = tmp_path / "bfcl_eval-2026.3.23-py3-none-any.whl"
    shutil.make_archive(str(other), "zip", tmp_path)
    other.with_suffix(".whl.zip").rename(other)
    with pytest.raises(UserError, match="its hash differs"):
        data.obtain(tmp_path, other)
    assert not (tmp_path / "package").exists()


def test_no_package_index(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    with pytest.raises(InfraError, match=r"could not install bfcl-eval.*--wheel"):
        data.obtain(tmp_path)
    assert not list(tmp_path.iterdir())


def test_two_at_once(bfcl_package, tmp_path, monkeypatch):
    monkeypatch.setattr(data, "_pip_install", lambda target, wheel: shutil.copytree(bfcl_package, target))
    shutil.copytree(bfcl_package, tmp_path / "package")
    data.install(tmp_path / "package")
    data.check(tmp_path / "package")


def test_the_index_survives_its_file(bfcl_index, tmp_path):
    write_index(bfcl_index, tmp_path / "pairs.json")
    assert read_index(tmp_path / "pairs.json") == bfcl_index


@pytest.mark.parametrize("content", ["", "[]", '{"pairs": [{}]}', '{"pairs": 5, "functions": {}, "effects": {}}'])
def test_a_broken_index_is_named(tmp_path, content):
    (tmp_path / "pairs.json").write_text(content)
    with pytest.raises(UserError, match=r"pairs\.json: not an index"):
        read_index(tmp_path / "pairs.json")


def test_nothing_heavy_is_imported_to_score():
    code = "import sys, helpseek.cli, helpseek.bfcl.scorecard, helpseek.bfcl.default_index, helpseek.bfcl.listing;"
    code += "print([m for m in ('numpy', 'pandas', 'pyarrow', 'yaml', 'pydantic', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
