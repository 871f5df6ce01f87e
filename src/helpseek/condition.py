"""The conditions a task is run under; a condition changes the task text and the offered commands, nothing else."""

from enum import StrEnum


class Condition(StrEnum):
    """HiL-Bench Section 4: full information, blocked (its "baseline"), with the tool; and its spec-only ablation."""

    FULL_INFO = "full_info"
    BLOCKED = "blocked"
    TOOL = "tool"
    SPEC_ONLY = "spec_only"
