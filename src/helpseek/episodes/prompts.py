"""The one system prompt, the same for every model and every condition (a wording per model confounds Ask-F1)."""

from __future__ import annotations

from typing import Literal

SYSTEM = "You solve a task by issuing one command per turn. You see the command's output before your next turn."
TEXT_FORMAT = "Reply with exactly one command in a fenced block:\n```\ncommand arguments\n```"


def system_prompt(mode: Literal["text", "tool_call"]) -> str:
    """The system prompt; in text mode it also says how a command is written, as no tool definition does."""
    return SYSTEM if mode == "tool_call" else f"{SYSTEM}\n{TEXT_FORMAT}"
