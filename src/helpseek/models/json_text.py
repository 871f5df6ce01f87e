"""JSON in a model's text, between prose and fences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects in `text`, in order."""
    decoder, start = json.JSONDecoder(), text.find("{")
    while start >= 0:
        try:
            found, end = decoder.raw_decode(text, start)
            yield found
        except json.JSONDecodeError:
            end = start + 1
        start = text.find("{", end)
