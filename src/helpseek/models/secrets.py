"""API keys: read from environment variables only, and masked in whatever text leaves a client."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from helpseek.errors import UserError

MASK = "***"


@dataclass(frozen=True, slots=True)
class Secret:
    """A key, or the empty text where none is needed; its repr does not show it."""

    value: str = field(default="", repr=False)

    def masked(self, text: str) -> str:
        """`text` without the key: some servers repeat the key that they refuse."""
        return text.replace(self.value, MASK) if self.value else text


def read_secret(variable: str | None) -> Secret:
    """The key in the environment variable `variable`; the empty secret for None.

    Raises `UserError` when the variable is not set, or holds what no HTTP header can carry (whose own error would
    show the key).
    """
    if variable is None:
        return Secret()
    value = os.environ.get(variable, "").strip()
    if not value:
        raise UserError(f"`api_key_env: {variable}`: that environment variable is not set; export the key in it")
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise UserError(f"`api_key_env: {variable}`: its value holds spaces or characters that no key has")
    return Secret(value)
