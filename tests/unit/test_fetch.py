"""Fetching the public data set: from a hub that is two local folders, and from the real one, which is not reachable."""

import hashlib
import os
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hilbench_builders import sql_row, sql_task, swe_row, write_database, write_json

from helpseek.errors import UserError
from helpseek.tasks.fetch import fetch
from helpseek.tasks.hilbench import load_tasks


class FolderHub:
    """A hub whose data set is `root/COMMIT` and whose buckets are `root/OWNER/NAME`; it logs what it handed out."""

    def __init__(self, root, commit="abc123"):
        self.root, self.commit, self.log = root, commit, []

    def snapshot(self, repository, revision):
        assert repository == "ScaleAI/hil-bench"
        return self.root / (revision or self.commit)

    def download(self, bucket, files):
        for remote, local in files:
            self.log.append(remote)
            source = self.root / bucket / remote
            if not source.exists():
                raise UserError(f"bucket {bucket}: {remote} not found")
            shutil.copyfile(source, local)


@pytest.fixture
def hub(tmp_path):
    root = tmp_path / "hub"
    (root / "abc123" / "data").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist([sql_row(1), sql_row(2)]), root / "abc123" / "data" / "train-0.parquet")
    pq.write_table(pa.Table.from_pylist([swe_row(1)]), root / "abc123" / "data" / "train-1.parquet")
    write_json(root / "abc123" / "dataset_infos.json", {})
    for number in (1, 2):
        write_database(root / "owner" / "bucket" / f"public_sql_{number}")
    return FolderHub(root)


def test_fetched_folder_loads_whole(tmp_path, hub):
    dest = tmp_path / "data set"
    report = fetch(dest, hub=hub)
    assert (report.downloaded, report.kept) == (6, 0)
    result = load_tasks(dest)
    assert result.errors == ()
    assert [task.task_id for task in result.tasks] == ["sql_1", "sql_2", "swe_1"]
    assert all(task.sql.database.is_relative_to(dest) and task.sql.tables for task in result.tasks if task.sql)
    assert (dest / "REVISION").read_text() == "ScaleAI/hil-bench abc123\n"
    assert sorted(path.name for path in dest.iterdir()) == ["REVISION", "SHA256SUMS", "data", "databases"]
    checked = subprocess.run(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=dest, capture_output=True, check=True)
    assert checked.stdout.count(b": OK") == 8


def test_second_call_downloads_nothing_and_a_changed_file_again(tmp_path, hub):
    fetch(tmp_path / "d", hub=hub)
    hub.log.clear()
    assert fetch(tmp_path / "d", hub=hub).kept == 6
    assert hub.log == []
    database = tmp_path / "d" / "databases" / "public_sql_2" / "shop.sqlite"
    content = database.read_bytes()
    database.write_bytes(content[:100])
    assert fetch(tmp_path / "d", hub=hub).downloaded == 1
    assert hub.log == ["public_sql_2/shop.sqlite"]
    assert hashlib.sha256(database.read_bytes()).digest() == hashlib.sha256(content).digest()


def test_stopped_call_resumes_and_leaves_no_half_file(tmp_path, hub):
    missing = hub.root / "owner" / "bucket" / "public_sql_2" / "orders.csv"
    content = missing.read_bytes()
    missing.unlink()
    with pytest.raises(UserError, match=r"public_sql_2/orders\.csv not found"):
        fetch(tmp_path / "d", hub=hub)
    assert len(list((tmp_path / "d" / "databases" / "public_sql_1").iterdir())) == 3
    assert not list((tmp_path / "d" / "databases" / "public_sql_2").iterdir())
    missing.write_bytes(content)
    report = fetch(tmp_path / "d", hub=hub)
    assert (report.downloaded, report.kept) == (3, 3)


def test_some_tasks_only(tmp_path, hub):
    assert fetch(tmp_path / "d", tasks=["public_sql_2"], hub=hub).downloaded == 3
    assert [task.sql.database is not None for task in load_tasks(tmp_path / "d").tasks if task.sql] == [False, True]
    with pytest.raises(UserError, match=r"`sql_22` is not a SQL task of the data set \(did you mean `sql_2`\?\)"):
        fetch(tmp_path / "d", tasks=["sql_22"], hub=hub)


def test_databases_of_a_checkout(tmp_path, hub):
    folder = sql_task(tmp_path / "harbor_sql", "sql_1")
    archive = {
        "hf_bucket": "owner/bucket",
        "db_artifact_path": "public_sql_1/shop.sqlite",
        "desc_artifact_paths": ["public_sql_1/orders.csv", "public_sql_1/table_descriptions.csv"],
    }
    write_json(folder / "shared" / "data_archive.json", archive)
    assert fetch(tmp_path / "d", harbor=tmp_path / "harbor_sql", hub=hub).downloaded == 3
    (task,) = load_tasks(tmp_path / "harbor_sql", tmp_path / "d" / "databases").tasks
    assert task.sql.database == tmp_path / "d" / "databases" / "public_sql_1" / "shop.sqlite"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"repo_or_db_download_link": "https://example.org/x.sqlite"}, "is not a bucket link"),
        ({"repo_or_db_download_link": ...}, "`repo_or_db_download_link` is missing"),
        ({"repo_or_db_name": "../../x"}, "is used in file names"),
        ({"task_id": "../x"}, "is used in file names"),
        ({"schema_descriptions_download_links": ["hf://buckets/a/b/.."]}, "is used in file names"),
    ],
)
def test_row_cannot_lead_outside_the_folder(tmp_path, change, message):
    write_json(tmp_path / "hub" / "abc123" / "train.json", [sql_row(1, **change)])
    with pytest.raises(UserError, match=message):
        fetch(tmp_path / "d", hub=FolderHub(tmp_path / "hub"))


def test_folder_that_cannot_be_written(tmp_path, hub):
    (tmp_path / "file").write_text("")
    for dest in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match="choose another folder"):
            fetch(dest, hub=hub)


def test_data_set_without_rows(tmp_path):
    (tmp_path / "hub" / "abc123").mkdir(parents=True)
    with pytest.raises(UserError, match="revision `abc123` holds no file of rows"):
        fetch(tmp_path / "d", hub=FolderHub(tmp_path / "hub"))


@pytest.mark.parametrize("offline", ["0", "1"])
def test_unreachable_hub_says_what_to_do(tmp_path, offline):
    # A port that nothing listens on: the real client fails as it does without network, also where there is one.
    hub = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": offline, "HF_HOME": str(tmp_path / "home")}
    code = "import sys, pathlib; from helpseek.tasks.fetch import fetch; fetch(pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(tmp_path / "d")]
    done = subprocess.run(command, env=os.environ | hub, capture_output=True, text=True, check=False)
    message = done.stderr.strip().splitlines()[-1]
    assert message.startswith("helpseek.errors.UserError: ScaleAI/hil-bench: the hub cannot be reached from here")
    for advice in ("machine with network", "HF_HOME", "HF_HUB_OFFLINE=1", "helpseek tasks check"):
        assert advice in message
    assert not (tmp_path / "d").exists()
