"""Do two query results agree? `match` is our strict rule, `reference_match` the reference harness's, for comparison."""

from helpseek.scoring.sql_match.reference import reference_match
from helpseek.scoring.sql_match.strict import match, values_agree
from helpseek.scoring.sql_match.verdict import ResultTable, Verdict

__all__ = ["ResultTable", "Verdict", "match", "reference_match", "values_agree"]
