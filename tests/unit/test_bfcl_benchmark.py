"""What the scoring benchmark measures and prints."""

import sys

import pytest

from benchmarks.bfcl_scoring import Run, markdown, run_process, why_not_official
from helpseek.errors import UserError


def test_a_process_is_measured_for_itself():
    large = run_process([sys.executable, "-c", "import time; b = b'x' * 300_000_000; time.sleep(0.2); print(len(b))"])
    assert large.output == "300000000\n"
    assert large.seconds >= 0.2
    assert 286 <= large.peak_mb < 1000


def test_the_environment_is_added_to():
    code = "import os; print(os.environ['ADDED'], 'PATH' in os.environ)"
    assert run_process([sys.executable, "-c", code], {"ADDED": "yes"}).output == "yes True\n"


def test_a_failing_process_is_named_with_its_last_words():
    with pytest.raises(UserError, match=r"exited with 3: last$"):
        run_process([sys.executable, "-c", "import sys; sys.stderr.write('first\\nlast\\n'); sys.exit(3)"])
    with pytest.raises(UserError, match="no-such-program: cannot be started"):
        run_process(["no-such-program"])


def test_why_the_official_evaluator_is_not_timed(tmp_path):
    assert why_not_official(None, tmp_path) == "no --official-python given"
    (tmp_path / "python").write_text(
        "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'bfcl_eval'\" >&2\nexit 1\n"
    )
    (tmp_path / "python").chmod(0o755)
    assert "No module named 'bfcl_eval'" in why_not_official(tmp_path / "python", tmp_path)
    (tmp_path / "python").write_text("#!/bin/sh\n")
    assert why_not_official(tmp_path / "python", tmp_path) is None


def test_the_table_compares_medians():
    runs = [[Run(1, 10, ""), Run(3, 30, ""), Run(2, 20, "")], [Run(50, 300, ""), Run(70, 300, ""), Run(60, 300, "")]]
    rows = markdown(["ours", "theirs"], runs, ["a", "b"], "theirs").splitlines()
    assert rows[0] == ("| what | median of 3 (s) | range (s) | peak memory (MB) | answer | times as fast as theirs |")
    assert rows[2:] == [
        "| ours | 2.000 | 1.000 to 3.000 | 20 | a | 30.0 |",
        "| theirs | 60.000 | 50.000 to 70.000 | 300 | b | 1.0 |",
    ]
    assert "times as fast" not in markdown(["ours"], runs[:1], ["a"], None)
