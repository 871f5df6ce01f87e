"""`helpseek tasks fetch`: the public data set, its databases and schema descriptions, into one folder.

The folder is what `load_tasks` reads: rows in `data/`, one folder a task in `databases/`, checksums in `SHA256SUMS`
(`sha256sum -c` reads them), the commit in `REVISION`. SWE images (293 GB in all) are not fetched.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from helpseek.errors import UserError, nearest
from helpseek.files import atomic_path
from helpseek.progress import Progress
from helpseek.tasks.database_files import plain_name
from helpseek.tasks.fields import Fields, read_text
from helpseek.tasks.hf_rows import PUBLIC_PREFIX, ROW_SUFFIXES, read_hf_rows, row_domain, row_task_id
from helpseek.tasks.hilbench import DATABASES, task_folders
from helpseek.tasks.hub import Hub, HuggingFaceHub

REPOSITORY = "ScaleAI/hil-bench"
CHECKSUMS = "SHA256SUMS"
REVISION = "REVISION"
PARTIAL = ".partial"
BUCKET_LINK = re.compile(r"hf://buckets/([^/]+/[^/]+)/(.+)")
CHECKSUM_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file of a bucket and where it goes, relative to the fetched folder."""

    bucket: str
    remote: str
    local: str


@dataclass(frozen=True, slots=True)
class FetchReport:
    """What one call did: files downloaded, and files that were there already with the recorded checksum."""

    folder: Path
    downloaded: int
    kept: int


def fetch(
    dest: Path,
    *,
    tasks: Collection[str] | None = None,
    revision: str | None = None,
    harbor: Path | None = None,
    hub: Hub | None = None,
) -> FetchReport:
    """Download into `dest` the rows of the public data set and the databases of its SQL tasks, all or those in `tasks`.

    With `harbor`, a checkout of the release's task folders, no rows are downloaded, only the databases that its
    `data_archive.json` files name; `load_tasks(harbor, databases=dest / "databases")` then finds them. Files already
    there with the recorded checksum are kept, so a stopped call resumes. Raises `UserError` when the hub cannot be
    reached (the message says what to do), does not have a file, when a task of `tasks` is unknown, or when `dest`
    cannot be written.
    """
    try:
        return _fetch(dest, tasks, revision, harbor, hub or HuggingFaceHub())
    except OSError as error:
        raise UserError(
            f"{error.filename or dest}: {error.strerror or error}; make room or choose another folder, then run this "
            "again: finished files are kept"
        ) from None


def _fetch(
    dest: Path, tasks: Collection[str] | None, revision: str | None, harbor: Path | None, hub: Hub
) -> FetchReport:
    checksums = _read_checksums(dest)
    downloaded = kept = 0
    if harbor is None:
        rows = _fetch_rows(dest, hub, revision, checksums)
        wanted = {row_task_id(row): _row_artifacts(row) for row in rows if row_domain(row) == "sql"}
    else:
        wanted = {folder.name: _harbor_artifacts(folder) for folder in task_folders(harbor)}
    groups = _selected(wanted, tasks)
    with Progress("fetch", sum(map(len, groups)), unit="file") as progress:
        for group in groups:
            missing = [artifact for artifact in group if not _is_kept(dest, artifact.local, checksums)]
            _download(dest, missing, hub, checksums)
            downloaded, kept = downloaded + len(missing), kept + len(group) - len(missing)
            progress.add(len(group), errors=0)
    shutil.rmtree(dest / PARTIAL, ignore_errors=True)
    return FetchReport(dest, downloaded, kept)


def _fetch_rows(dest: Path, hub: Hub, revision: str | None, checksums: dict[str, str]) -> list[Fields]:
    """Copy the files of rows to `data/` and read them; of several kinds of file the first of `ROW_SUFFIXES` counts."""
    snapshot = hub.snapshot(REPOSITORY, revision)
    found = [file for file in sorted(snapshot.rglob("*")) if file.is_file() and file.suffix in ROW_SUFFIXES]
    suffix = next((suffix for suffix in ROW_SUFFIXES if any(file.suffix == suffix for file in found)), None)
    rows: list[Fields] = []
    for file in (file for file in found if file.suffix == suffix):
        name = str(file.relative_to(snapshot)).removeprefix("data/").replace("/", "__")
        local = f"data/{name}"
        with atomic_path(dest / local) as temporary:
            shutil.copyfile(file, temporary)
        checksums[local] = _sha256(dest / local)
        rows += read_hf_rows(dest / local)
    if not rows:
        raise UserError(f"{REPOSITORY}: revision `{snapshot.name}` holds no file of rows ({', '.join(ROW_SUFFIXES)})")
    _write_checksums(dest, checksums)
    with atomic_path(dest / REVISION) as temporary:
        temporary.write_text(f"{REPOSITORY} {snapshot.name}\n", encoding="utf-8")
    return rows


def _row_artifacts(row: Fields) -> list[Artifact]:
    """The database and schema descriptions a row links to."""
    task_id = plain_name(row.text("task_id").strip(), row.where("task_id"))
    name = plain_name(row.text("repo_or_db_name"), row.where("repo_or_db_name"))
    database = _artifact(row, "repo_or_db_download_link", row.text("repo_or_db_download_link"), task_id)
    key = "schema_descriptions_download_links"
    described = [_artifact(row, key, link, task_id) for link in row.texts(key)]
    local = f"{DATABASES}/{task_id}/{name}.sqlite"
    return [Artifact(database.bucket, database.remote, local), *described]


def _artifact(row: Fields, key: str, link: str, task_id: str) -> Artifact:
    match = BUCKET_LINK.fullmatch(link.strip())
    if not match:
        raise UserError(f"{row.where(key)}: `{link:.80}` is not a bucket link (hf://buckets/OWNER/NAME/PATH)")
    bucket, remote = match.groups()
    return Artifact(bucket, remote, f"{DATABASES}/{task_id}/{plain_name(Path(remote).name, row.where(key))}")


def _harbor_artifacts(folder: Path) -> list[Artifact]:
    """The files that a SQL task folder's `data_archive.json` names; none for a SWE task, which has no such file."""
    archive = folder / "shared" / "data_archive.json"
    if not archive.exists():
        return []
    fields = Fields.read(archive)
    bucket, task = fields.text("hf_bucket"), PUBLIC_PREFIX + plain_name(folder.name, str(folder))
    keys = [("db_artifact_path", fields.text("db_artifact_path"))]
    keys += [("desc_artifact_paths", path) for path in fields.texts("desc_artifact_paths")]
    return [
        Artifact(bucket, path, f"{DATABASES}/{task}/{plain_name(Path(path).name, fields.where(key))}")
        for key, path in keys
    ]


def _selected(wanted: dict[str, list[Artifact]], tasks: Collection[str] | None) -> list[list[Artifact]]:
    if tasks is None:
        return list(wanted.values())
    names = [task.removeprefix(PUBLIC_PREFIX) for task in tasks]
    for name in names:
        if name not in wanted:
            raise UserError(f"`{name}` is not a SQL task of the data set{nearest(name, wanted)}")
    return [wanted[name] for name in dict.fromkeys(names)]


def _download(dest: Path, artifacts: Sequence[Artifact], hub: Hub, checksums: dict[str, str]) -> None:
    """Download beside the final place, so that a file found there is whole; then record checksums."""
    for bucket in dict.fromkeys(artifact.bucket for artifact in artifacts):
        files = [artifact for artifact in artifacts if artifact.bucket == bucket]
        for artifact in files:
            for folder in (dest / PARTIAL, dest):
                (folder / artifact.local).parent.mkdir(parents=True, exist_ok=True)
        hub.download(bucket, [(artifact.remote, dest / PARTIAL / artifact.local) for artifact in files])
        for artifact in files:
            arrived = dest / PARTIAL / artifact.local
            if not arrived.is_file():
                raise UserError(f"bucket {bucket}: `{artifact.remote}` did not arrive; run the command again")
            checksums[artifact.local] = _sha256(arrived)
            arrived.replace(dest / artifact.local)
    if artifacts:
        _write_checksums(dest, checksums)


def _is_kept(dest: Path, local: str, checksums: dict[str, str]) -> bool:
    file = dest / local
    return file.is_file() and checksums.get(local) == _sha256(file)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read_checksums(dest: Path) -> dict[str, str]:
    if not (dest / CHECKSUMS).exists():
        return {}
    lines = (CHECKSUM_LINE.fullmatch(line) for line in read_text(dest / CHECKSUMS).split("\n"))
    return {line.group(2): line.group(1) for line in lines if line}


def _write_checksums(dest: Path, checksums: dict[str, str]) -> None:
    with atomic_path(dest / CHECKSUMS) as temporary:
        temporary.write_text("".join(_checksum_lines(checksums)), encoding="utf-8")


def _checksum_lines(checksums: dict[str, str]) -> Iterator[str]:
    return (f"{checksums[local]}  {local}\n" for local in sorted(checksums))
