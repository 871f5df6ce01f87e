"""How mistakes and failures reach a person: one paragraph on the terminal, the rest in the log."""

import errno
import os

import pytest

from helpseek.errors import InfraError, UserError, reported


@pytest.mark.parametrize(
    ("error", "paragraph"),
    [
        (UserError("x.yaml: no"), "x.yaml: no"),
        (InfraError("x.sqlite: no such database"), "x.sqlite: no such database"),
        (OSError(errno.EROFS, os.strerror(errno.EROFS), "results/a"), "results/a: Read-only file system"),
        (OSError(errno.EACCES, os.strerror(errno.EACCES), "results/a"), "results/a: Permission denied"),
    ],
)
def test_one_paragraph_and_no_traceback(error, paragraph, tmp_path, capsys):
    with pytest.raises(SystemExit) as end, reported(tmp_path / "log"):
        raise error
    assert end.value.code == 1
    assert capsys.readouterr().err == f"error: {paragraph}\n"
    log = (tmp_path / "log").read_text()
    assert paragraph in log
    assert ("Traceback" in log) == (not isinstance(error, UserError))


@pytest.mark.parametrize("error", [KeyError("k"), OSError("no file, no number")])
def test_what_is_a_defect_keeps_its_traceback(error, tmp_path):
    with pytest.raises(type(error)), reported(tmp_path / "log"):
        raise error
    assert "Traceback" in (tmp_path / "log").read_text()


def test_a_folder_in_place_of_a_file(tmp_path, capsys):
    with pytest.raises(SystemExit), reported():
        (tmp_path).write_text("x")
    assert capsys.readouterr().err == f"error: {tmp_path}: Is a directory\n"
