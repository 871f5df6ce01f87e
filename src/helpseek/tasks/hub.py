"""The Hugging Face hub as `fetch` needs it: rows of a data set, files of a bucket."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from helpseek.errors import UserError

ROW_PATTERNS = ["*.parquet", "*.jsonl", "*.json"]


class Hub(Protocol):
    """What `fetch` asks of a hub. Both methods raise `UserError` when it does not deliver."""

    def snapshot(self, repository: str, revision: str | None) -> Path:
        """A folder with the row files of a data set; its name is the commit."""

    def download(self, bucket: str, files: Sequence[tuple[str, Path]]) -> None:
        """Download each (path in the bucket, local path); parents of local paths exist."""


class HuggingFaceHub:
    """The real hub, through `huggingface_hub`: rows come from its cache (`HF_HOME`) when they are there."""

    def snapshot(self, repository: str, revision: str | None) -> Path:
        from huggingface_hub import snapshot_download

        with _explained(repository):
            folder = snapshot_download(repository, repo_type="dataset", revision=revision, allow_patterns=ROW_PATTERNS)
        return Path(folder)

    def download(self, bucket: str, files: Sequence[tuple[str, Path]]) -> None:
        from huggingface_hub import HfApi

        with _explained(f"bucket {bucket}"):
            HfApi().download_bucket_files(bucket, list(files), raise_on_missing_files=True)


@contextlib.contextmanager
def _explained(source: str) -> Iterator[None]:
    """Turn the hub's errors into a `UserError` that says what to do."""
    from httpx2 import HTTPError
    from huggingface_hub import errors

    try:
        yield
    except errors.RevisionNotFoundError:
        raise UserError(f"{source}: the hub has no such revision; leave `revision` out for the newest") from None
    except errors.HfHubHTTPError as error:
        raise UserError(
            f"{source}: the hub refused ({_first_line(error)}); if access has to be granted, log in with "
            "`hf auth login`, then run this again: finished files are kept"
        ) from None
    except (HTTPError, ConnectionError, errors.LocalEntryNotFoundError) as error:
        raise UserError(
            f"{source}: the hub cannot be reached from here ({_first_line(error)}). Run the same command on a machine "
            "with network and copy its folder here, or set HF_HOME to a cache that holds the data set and "
            "HF_HUB_OFFLINE=1; then run `helpseek tasks check FOLDER`"
        ) from None
    except (errors.EntryNotFoundError, errors.XetDownloadError) as error:
        raise UserError(f"{source}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
