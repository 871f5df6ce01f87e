"""Tables on hand-made episodes whose every value is known, on empty input, and in each format."""

import itertools
import math

import pandas as pd
import pyarrow.parquet as pq
import pytest

from helpseek.records import read_table, write_rows
from helpseek.report.ask_table import ask_quality
from helpseek.report.formats import readable, write_formats
from helpseek.report.published import TASK_STATISTICS
from helpseek.report.tables import complementary, judgment_gap, main_results
from helpseek.report.task_tables import selection_table, task_checks, task_statistics
from helpseek.schemas import SCHEMAS
from helpseek.scoring.ask_f1 import AskCounts, ask_quality_reference
from helpseek.scoring.ask_f1 import ask_quality as quality_of
from helpseek.scoring.intervals import wilson

numbers = itertools.count()


def episode(task, attempt=0, resolved=True, condition="tool", model="m", questions=0, hits=0, **other):
    row = {
        "episode_id": f"e{next(numbers)}",
        "taskset": "set",
        "task_id": task,
        "domain": "sql",
        "model": model,
        "condition": condition,
        "attempt": attempt,
        "seed": 0,
        "outcome": "infra_error" if resolved is None else "ok",
        "exit_status": "Submitted",
        "error": None,
        "submission": "SELECT 1",
        "resolved": resolved,
        "resolved_reference": resolved,
        "grade": "",
        "n_blockers": 3,
        "n_questions": questions,
        "n_resolved": hits,
        "n_steps": 4,
        "input_tokens": 100,
        "output_tokens": 10,
        "duration_s": 1.0,
        "judge": "lexical",
        "per_task_cap": None,
        "per_blocker_cap": None,
        "code_digest": "x",
    }
    return row | other


def question(of, verdict, blocker, position=0):
    return {
        "episode_id": of["episode_id"],
        "position": position,
        "step": 0,
        "question": "?",
        "verdict": verdict,
        "blocker_id": blocker,
        "score": None,
        "reply": "",
    }


def blocker(task, name, kind="missing", **other):
    values = dict.fromkeys(SCHEMAS["blockers"].names)
    filled = {"task_id": task, "blocker_id": name, "position": 0, "type": kind, "description": "", "resolution": ""}
    return values | filled | {"trigger_questions": [], "readings": []} | other


@pytest.fixture
def stored(tmp_path):
    """Rows as they come back from Parquet, with its types."""

    def store(schema, rows):
        write_rows(tmp_path / "rows.parquet", schema, rows)
        return read_table(tmp_path / "rows.parquet", schema).to_pandas()

    return store


def test_main_results_counts_attempts_and_leaves_infra_errors_out(stored):
    episodes = stored(
        "episodes",
        [
            episode("a", 0, False),
            episode("a", 1, True),
            episode("b", 1, False),
            episode("b", 0, False),
            episode("c", 0, True, resolved_reference=False),
            episode("c", 1, True, resolved_reference=False),
            episode("d", 0, None),
            episode("d", 1, True),
        ],
    )
    row = main_results(episodes, k=2).iloc[0]
    assert (row["n_tasks"], row["n_excluded"], row["n_episodes"], row["n_infra_error"]) == (3, 1, 8, 1)
    assert row["pass_at_1"] == pytest.approx(1 / 3)
    assert row["pass_at_2"] == pytest.approx(2 / 3)
    assert row["pass_at_2_low"] == pytest.approx(wilson(2, 3).low)
    assert row["pass_at_1_unbiased"] == pytest.approx(0.5)
    assert row["pass_at_2_reference"] == pytest.approx(1 / 3)
    assert "pass_at_2_unbiased" not in row


def test_groups_stay_apart_in_the_order_they_come(stored):
    episodes = stored(
        "episodes",
        [
            episode("a", model="z"),
            episode("a", resolved=False, condition="blocked", model="z"),
            episode("a", resolved=False, model="y"),
            episode("a", resolved=False, model="z", taskset="other"),
        ],
    )
    table = main_results(episodes, k=1)
    assert list(zip(table["model"], table["taskset"], table["condition"], strict=True)) == [
        ("z", "set", "tool"),
        ("z", "set", "blocked"),
        ("y", "set", "tool"),
        ("z", "other", "tool"),
    ]
    assert list(table["pass_at_1"]) == [1, 0, 0, 0]


def test_the_reference_grade_may_be_missing(stored):
    row = main_results(stored("episodes", [episode("a", resolved_reference=None)]), k=1).iloc[0]
    assert row["pass_at_1"] == 1
    assert math.isnan(row["pass_at_1_reference"])


def test_only_infra_errors_leave_no_estimate(stored):
    episodes = stored("episodes", [episode("a", resolved=None), episode("b", resolved=None)])
    row = main_results(episodes, k=1).iloc[0]
    assert (row["n_tasks"], row["n_excluded"], row["n_infra_error"]) == (0, 2, 2)
    assert math.isnan(row["pass_at_1"])


def test_judgment_gap_is_paired_by_task(stored):
    outcomes = {"a": (True, True), "b": (True, False), "c": (True, False), "d": (False, False), "e": (True, None)}
    rows = []
    for task, (full_info, tool) in outcomes.items():
        rows += [episode(task, resolved=full_info, condition="full_info"), episode(task, resolved=tool)]
    table = judgment_gap(stored("episodes", [*rows, episode("a", model="tool_only")]), k=1)
    assert list(table["model"]) == ["m"]
    row = table.iloc[0]
    assert (row["n_tasks"], row["n_unpaired"]) == (4, 1)
    assert (row["pass_at_1_full_info"], row["pass_at_1_tool"], row["judgment_gap"]) == (0.75, 0.25, 0.5)
    assert 0 <= row["judgment_gap_low"] < 0.5 < row["judgment_gap_high"] <= 1


def test_ask_quality_on_known_episodes(stored):
    one, two = episode("a", 0, questions=3, hits=2), episode("a", 1, questions=0)
    three = episode("b", 0, questions=1, hits=1, n_blockers=2)
    ignored = [episode("b", 1, resolved=None, questions=1, hits=1), episode("b", condition="blocked")]
    questions = [
        question(one, "resolved", "x", 0),
        question(one, "repeated", "x", 1),
        question(one, "resolved", "y", 2),
        question(three, "resolved", "x"),
        question(ignored[0], "resolved", "y"),
    ]
    blockers = [
        blocker("a", "x", "missing"),
        blocker("a", "y", "ambiguous"),
        blocker("a", "z", "contradictory"),
        blocker("b", "x", "ambiguous"),
        blocker("b", "y", None),
    ]
    table = ask_quality(
        stored("episodes", [one, two, three, *ignored]), stored("questions", questions), stored("blockers", blockers)
    )
    assert len(table) == 1
    row = table.iloc[0]
    counts = [AskCounts(3, 2, 3), AskCounts(0, 0, 3), AskCounts(1, 1, 2)]
    expected = quality_of(counts)
    assert (row["precision"], row["recall"], row["ask_f1"]) == (expected.precision, expected.recall, expected.f1)
    assert row["ask_f1_reference"] == pytest.approx(ask_quality_reference(counts).f1)
    assert (row["n_tasks"], row["n_episodes"], row["n_silent"], row["n_infra_error"]) == (2, 3, 1, 1)
    assert (row["n_questions"], row["n_resolved"], row["n_blockers"]) == (4, 3, 8)
    # Task a stands in two episodes, task b in one.
    assert [row[f"n_blockers_{kind}"] for kind in ("missing", "ambiguous", "contradictory")] == [2, 3, 2]
    assert row["recall_missing"] == pytest.approx(1 / 2)
    assert row["recall_ambiguous"] == pytest.approx(2 / 3)
    assert row["recall_contradictory"] == 0


def test_blockers_of_two_task_sets_need_their_task_set(stored):
    episodes = stored("episodes", [episode("a", hits=1, questions=1), episode("a", taskset="other")])
    questions = stored("questions", [question(episodes.iloc[0], "resolved", "x")])
    blockers = stored("blockers", [blocker("a", "x"), blocker("a", "x", "ambiguous")])
    with pytest.raises(ValueError, match="taskset"):
        ask_quality(episodes, questions, blockers)
    table = ask_quality(episodes, questions, blockers.assign(taskset=["set", "other"]))
    assert list(table["recall_missing"].fillna(-1)) == [1, -1]
    assert list(table["n_blockers_ambiguous"]) == [0, 1]


def test_blockers_without_a_type_count_in_no_recall_by_type(stored):
    row = ask_quality(
        stored("episodes", [episode("a")]), stored("questions", []), stored("blockers", [blocker("a", "x", None)])
    ).iloc[0]
    assert row["n_blockers_missing"] == 0
    assert math.isnan(row["recall_missing"])
    assert row["recall"] == 0


def test_complementary_means_leave_uncounted_tokens_out(stored):
    rows = [
        episode("a", 0, questions=2, n_steps=3),
        episode("a", 1, questions=0, n_steps=5, input_tokens=None, output_tokens=None),
        episode("b", 0, questions=1, n_steps=7, input_tokens=300),
        episode("b", 1, resolved=None, questions=9, n_steps=99),
    ]
    row = complementary(stored("episodes", rows)).iloc[0]
    assert (row["questions"], row["steps"], row["input_tokens"], row["output_tokens"]) == (1, 5, 200, 10)
    assert (row["n_episodes"], row["n_token_counts"], row["n_infra_error"]) == (3, 2, 1)


def test_task_statistics_have_the_published_figures_beside_hilbench_only():
    tasks = pd.DataFrame({"task_id": ["a", "b", "c"], "domain": ["sql", "sql", "swe"], "source": "hilbench"})
    blockers = pd.DataFrame(
        {"task_id": ["a", "a", "b", "c"], "type": ["missing", "ambiguous", "missing", None], "blocker_id": list("xyxx")}
    )
    table = task_statistics(tasks, blockers).set_index("domain")
    assert list(table.index) == ["sql", "swe", "all"]
    assert (table.loc["sql", "n_blockers"], table.loc["sql", "blockers_per_task"]) == (3, 1.5)
    assert table.loc["sql", "share_missing"] == pytest.approx(200 / 3)
    assert table.loc["swe", "n_untyped"] == 1
    assert math.isnan(table.loc["swe", "share_missing"])
    assert table.loc["all", "published_n_blockers"] == 1131
    own = task_statistics(tasks.assign(source="generated"), blockers)
    assert not [name for name in own.columns if name.startswith("published")]


def test_the_published_figures_add_up():
    for statistics in TASK_STATISTICS.values():
        shares = statistics.share_missing + statistics.share_ambiguous + statistics.share_contradictory
        assert shares == pytest.approx(100, abs=0.11)
        assert statistics.n_blockers / statistics.n_tasks == pytest.approx(statistics.blockers_per_task, abs=0.005)
    sql, swe, both = (TASK_STATISTICS[name] for name in ("sql", "swe", "all"))
    assert (sql.n_tasks + swe.n_tasks, sql.n_blockers + swe.n_blockers) == (both.n_tasks, both.n_blockers)


def test_task_checks_count_a_task_once_among_the_excluded(stored):
    rows = [
        {"task_id": task, "check": check, "blocker_id": blocker_id, "passed": passed, "detail": ""}
        for task, check, blocker_id, passed in [
            ("a", "x", "one", False),
            ("a", "x", "two", False),
            ("a", "x", "three", True),
            ("a", "y", None, False),
            ("b", "x", "one", True),
            ("b", "y", None, False),
        ]
    ]
    table = task_checks(stored("checks", rows)).set_index("check")
    assert table["n_failed"].to_dict() == {"x": 1, "y": 2, "any (excluded)": 2}
    assert table["n_tasks"].to_dict() == {"x": 2, "y": 2, "any (excluded)": 2}
    assert table.loc["x", "share_failed"] == 0.5


def test_selection_tells_what_each_filter_dropped(stored):
    dropped = [None, None, "unsolvable", "solvable_without_help"]
    rows = [
        {"task_id": f"t{n}", "kept": d is None, "dropped_by": d, "max_blocked_pass_rate": None}
        | {"max_full_info_pass_rate": 0.5}
        for n, d in enumerate(dropped)
    ]
    table = selection_table(stored("selection", rows)).set_index("tasks")
    assert table["n_tasks"].to_list() == [4, 1, 1, 2]
    assert table.loc["kept", "share"] == 0.5


def test_empty_input_gives_empty_tables_with_their_columns(stored):
    episodes, questions, blockers = (stored(name, []) for name in ("episodes", "questions", "blockers"))
    full = stored("episodes", [episode("a"), episode("a", condition="full_info")])
    one = stored("blockers", [blocker("a", "x")])
    for empty, filled in (
        (main_results(episodes, 2), main_results(full, 2)),
        (judgment_gap(episodes, 2), judgment_gap(full, 2)),
        (ask_quality(episodes, questions, blockers), ask_quality(full, questions, one)),
        (complementary(episodes), complementary(full)),
    ):
        assert len(empty) == 0
        assert list(empty.columns) == list(filled.columns)
    assert len(task_statistics(stored("tasks", []), blockers)) == 0
    assert task_checks(stored("checks", []))["n_failed"].to_list() == [0]
    assert selection_table(stored("selection", []))["n_tasks"].sum() == 0


FRAME = pd.DataFrame(
    {
        "model": ["a_b", "x|y & z"],
        "n_tasks": [1200, 3],
        "f1": [0.617, math.nan],
        "f1_low": [0.51, math.nan],
        "f1_high": [0.724, math.nan],
        "tokens": [12345.678, 12.34],
    }
)


def test_people_read_intervals_and_programs_read_numbers(tmp_path):
    write_formats(FRAME, tmp_path / "out" / "table.v1", "Rates in % of tasks")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"table.v1.{suffix}" for suffix in ("csv", "md", "parquet", "tex")
    ]
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out/table.v1.parquet"), FRAME)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "out/table.v1.csv"), FRAME)
    metadata = pq.read_schema(tmp_path / "out/table.v1.parquet").metadata
    assert b"produced_by" in metadata
    header, cells = readable(FRAME)
    assert header == ["model", "n tasks", "f1", "tokens"]
    assert cells[0] == ["a_b", "1,200", "0.62 [0.51, 0.72]", "12,346"]
    assert cells[1] == ["x|y & z", "3", "–", "12.3"]


def test_markdown_and_latex_escape_what_means_something_there(tmp_path):
    write_formats(FRAME, tmp_path / "table", "Rates in % of tasks")
    markdown = (tmp_path / "table.md").read_text(encoding="utf-8").splitlines()
    assert markdown[0] == "Rates in % of tasks"
    assert len({len(line) for line in markdown[2:]}) == 1
    assert r"x\|y & z" in markdown[5]
    latex = (tmp_path / "table.tex").read_text(encoding="utf-8")
    assert r"\caption{Rates in \% of tasks}" in latex
    assert r"a\_b & 1,200 & 0.62 [0.51, 0.72] & 12,346 \\" in latex
    assert r"x\textbar{}y \& z & 3 & -- & 12.3 \\" in latex
    assert r"\begin{tabular}{lrrr}" in latex


def test_negative_numbers_and_rows_that_start_with_a_bracket(tmp_path):
    frame = pd.DataFrame({"name": ["[x]"], "gap": [-0.25], "gap_low": [-0.5], "gap_high": [0.125]})
    write_formats(frame, tmp_path / "table", "c")
    assert "−0.25 [−0.50, 0.12]" in (tmp_path / "table.md").read_text(encoding="utf-8")
    assert "{[x]} & $-$0.25 [$-$0.50, 0.12]" in (tmp_path / "table.tex").read_text(encoding="utf-8")


def test_an_empty_table_says_so(tmp_path):
    write_formats(FRAME.iloc[:0], tmp_path / "table", "c")
    assert "No rows." in (tmp_path / "table.md").read_text(encoding="utf-8")
    assert r"\multicolumn{4}{c}{No rows.}" in (tmp_path / "table.tex").read_text(encoding="utf-8")
    assert list(pd.read_csv(tmp_path / "table.csv").columns) == list(FRAME.columns)
    assert len(pd.read_parquet(tmp_path / "table.parquet")) == 0
