"""The journal: whatever happens to its file, whole entries survive and each episode counts once."""

import json
import multiprocessing
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpseek.episodes.journal import Journal
from helpseek.episodes.outcome import EpisodeRows
from helpseek.errors import UserError


def rows(key, outcome="ok", text=""):
    return EpisodeRows({"episode_id": key, "outcome": outcome, "text": text}, [{"step": 0}], [])


def test_what_was_appended_is_finished_and_read_back(tmp_path):
    with Journal(tmp_path / "j.jsonl") as journal:
        journal.append([rows("a"), rows("b", text='猫\n"quoted"')])
    with Journal(tmp_path / "j.jsonl") as journal:
        assert journal.finished() == {"a", "b"}
        assert [entry.episode["text"] for entry in journal.read(["b", "a"])] == ['猫\n"quoted"', ""]


def test_an_infrastructure_error_is_tried_again_and_its_last_entry_counts(tmp_path):
    with Journal(tmp_path / "j.jsonl") as journal:
        journal.append([rows("a", "infra_error"), rows("b")])
        assert journal.finished() == {"b"}
        journal.append([rows("a", "ok", text="second")])
    with Journal(tmp_path / "j.jsonl") as journal:
        assert journal.finished() == {"a", "b"}
        assert next(journal.read(["a"])).episode["text"] == "second"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(keys=st.lists(st.text("abcdef", min_size=1, max_size=4), min_size=1, max_size=8, unique=True), data=st.data())
def test_a_file_cut_anywhere_keeps_every_whole_line(tmp_path, keys, data):
    path = tmp_path / "j.jsonl"
    path.unlink(missing_ok=True)
    with Journal(path) as journal:
        journal.append([rows(key) for key in keys])
    content = path.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:cut])
    # An entry that lacks only its line end is whole: no part of a JSON object is itself one.
    whole = sum(cut >= end for end, byte in enumerate(content) if byte == ord("\n"))
    with Journal(path) as journal:
        assert journal.finished() == set(keys[:whole])
        journal.append([rows("later")])
    with Journal(path) as journal:
        assert journal.finished() == {*keys[:whole], "later"}
        assert [entry.episode["episode_id"] for entry in journal.read(keys[:whole])] == keys[:whole]


@pytest.mark.parametrize(
    "damage", [b"\x00\x00\x00\n", b"{}\n", b"[1]\n", b'{"episode": 3}\n', b"\xff\xfe\n", b"null\n"]
)
def test_a_damaged_line_in_the_middle_is_dropped_alone(tmp_path, damage, capsys):
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        journal.append([rows("a")])
    path.write_bytes(damage + path.read_bytes() + damage)
    with Journal(path) as journal:
        journal.append([rows("b")])
        assert journal.finished() == {"a", "b"}
    assert "2 damaged line(s) dropped" in capsys.readouterr().err


def test_lone_surrogates_of_a_model_do_not_break_it(tmp_path):
    with Journal(tmp_path / "j.jsonl") as journal:
        journal.append([rows("a", text="bad \ud800 text")])
        assert next(journal.read(["a"])).episode["text"] == "bad ? text"


def hold(path, ready, release):
    with Journal(path):
        ready.set()
        release.wait(10)


def test_a_second_writer_is_refused(tmp_path):
    context = multiprocessing.get_context("spawn")
    ready, release = context.Event(), context.Event()
    holder = context.Process(target=hold, args=(tmp_path / "j.jsonl", ready, release))
    holder.start()
    assert ready.wait(20)
    with pytest.raises(UserError, match="another process is writing this shard"), Journal(tmp_path / "j.jsonl"):
        pass
    release.set()
    holder.join(10)
    with Journal(tmp_path / "j.jsonl") as journal:
        assert journal.finished() == set()


def test_what_append_returned_from_survives_kill_9(tmp_path):
    program = """
import os, signal, sys
from pathlib import Path
from helpseek.episodes.journal import Journal
from helpseek.episodes.outcome import EpisodeRows
with Journal(Path(sys.argv[1])) as journal:
    journal.append([EpisodeRows({"episode_id": "a", "outcome": "ok"}, [], [])])
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "j.jsonl")], check=False)
    assert done.returncode == -9
    assert json.loads((tmp_path / "j.jsonl").read_text())["episode"]["episode_id"] == "a"
