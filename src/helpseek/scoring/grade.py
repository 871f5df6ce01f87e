"""Grade a submission: run gold and prediction under the guard and compare their results."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from helpseek.environments.sql_guard import SqlGuard, SqlLimits, SqlResult
from helpseek.errors import InfraError
from helpseek.scoring.sql_match import match, reference_match
from helpseek.tasks.task import SqlSpec

KEPT_GOLD_RESULTS = 64


@dataclass(frozen=True, slots=True)
class Grade:
    """`resolved` by our rule and by the reference harness's, with the reason in words."""

    resolved: bool
    resolved_reference: bool
    reason: str


class SqlGrader:
    """Grades submissions of many episodes; recent gold results are kept. `limits` bound one query."""

    def __init__(self, guard: SqlGuard, limits: SqlLimits) -> None:
        self.guard, self.limits = guard, limits
        self.gold: OrderedDict[tuple[Path, str], SqlResult] = OrderedDict()
        self.lock = threading.Lock()

    def grade(self, spec: SqlSpec, submission: str | None) -> Grade:
        """Grade one submission (None: nothing was submitted). Raises `InfraError` when the gold query does not run."""
        if submission is None:
            return Grade(False, False, "nothing submitted")
        assert spec.database is not None, "an episode ran, so its database is there"
        gold = self._gold(spec.database, spec.gold_sql)
        predicted = self.guard.run(spec.database, submission, self.limits)
        if predicted.status != "ok":
            return Grade(False, False, f"{predicted.status}: {predicted.error}")
        if predicted.truncated:
            return Grade(False, False, f"more than {self.limits.max_rows} rows")
        verdict = match(gold, predicted, ordered=spec.ordered)
        return Grade(verdict.equal, reference_match(gold, predicted).equal, verdict.reason)

    def _gold(self, database: Path, sql: str) -> SqlResult:
        key = (database, sql)
        with self.lock:
            if key in self.gold:
                self.gold.move_to_end(key)
                return self.gold[key]
        result = self.guard.run(database, sql, self.limits)
        if result.status != "ok" or result.truncated:
            problem = result.error or f"more than {self.limits.max_rows} rows"
            raise InfraError(f"the gold query of a task over {database} does not run: {problem}")
        with self.lock:
            self.gold[key] = result
            while len(self.gold) > KEPT_GOLD_RESULTS:
                self.gold.popitem(last=False)
        return result
