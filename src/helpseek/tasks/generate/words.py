"""Word pieces that names and terms are made of.

Train and held-out tasks share no database name, no compound table or column name and no term, but share all pieces: a
model trained from scratch can spell a held-out name, and cannot have learnt what it stands for.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

Split = Literal["train", "held_out"]

NAME_FIRST = tuple(
    "amber birch cedar delta ember fjord grove haven ivory juniper lunar maple north ocean pearl quartz".split()
)
NAME_SECOND = tuple("bay creek dale field gate hill lake mill point ridge shore vale".split())
TERM_FIRST = tuple(
    "silver golden iron copper blue green crimson violet solid swift prime bright steady inner outer grand".split()
)
TERM_SECOND = tuple("circle grade class line tier band rank mark ring track".split())
PREFIXES = tuple("base basic core early final fixed joint late local main prior raw".split())


def pairs(first: Sequence[str], second: Sequence[str], split: Split) -> list[tuple[str, str]]:
    """Combinations that belong to `split`: a quarter of all is held out, and every piece occurs on both sides."""
    return [
        (a, b) for i, a in enumerate(first) for j, b in enumerate(second) if ((i + j) % 4 == 0) == (split == "held_out")
    ]


def names(split: Split, rng: random.Random) -> list[str]:
    """Database names of `split` in random order, as `amber_bay`."""
    found = ["_".join(pair) for pair in pairs(NAME_FIRST, NAME_SECOND, split)]
    rng.shuffle(found)
    return found


def terms(split: Split, rng: random.Random, count: int) -> list[str]:
    """`count` different terms of `split`, as `silver circle`."""
    return [" ".join(pair) for pair in rng.sample(pairs(TERM_FIRST, TERM_SECOND, split), count)]
