"""Search over one task's business notes, behind `get_business_info`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]

TOP_NOTES = 5


@dataclass(frozen=True, slots=True)
class NoteSearch:
    """Ranks `notes` (of one task only) by cosine to a question; `embed` maps texts to unit rows of shape (n, d)."""

    notes: tuple[str, ...]
    embed: Embed

    def top(self, question: str, count: int = TOP_NOTES) -> list[str]:
        """The `count` nearest notes, best first; equal scores keep the notes' order."""
        if not self.notes:
            return []
        scores = self.embed(self.notes) @ self.embed([question])[0]
        return [self.notes[i] for i in np.argsort(-scores, kind="stable")[:count]]
