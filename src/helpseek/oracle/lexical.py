"""The lexical judge: word overlap by TF-IDF, a baseline that needs no model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from helpseek.oracle.verdict import Match
from helpseek.tasks.task import Domain, Registry

# Word tokens of one letter count: a schema may well be about column `a`.
TOKEN = r"(?u)\b\w+\b"


def embed_words(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Unit vectors of hashed words, shape (n, 4096): no model, no vocabulary, the same in every process."""
    # Two seconds of import that most shards do not need.
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer = HashingVectorizer(n_features=4096, token_pattern=TOKEN, alternate_sign=False)
    vectors: npt.NDArray[np.float32] = vectorizer.transform(texts).toarray().astype(np.float32)
    return vectors


class LexicalJudge:
    """Picks the blocker with the largest cosine of TF-IDF word 1-2-grams, without English stop words.

    The weights are fitted on the registry and the question together, so that words of the question that no blocker
    knows count against a match (fitted on the registry alone, precision on the public SQL registries is half as high).
    """

    name = "lexical"

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def match(self, question: str, registry: Registry, domain: Domain) -> Match:
        """Largest cosine over a blocker's trigger questions and description; ties go to the earlier blocker."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        texts = [(b.blocker_id, text) for b in registry for text in (*b.trigger_questions, b.description)]
        vectorizer = TfidfVectorizer(ngram_range=(1, 2), stop_words="english", token_pattern=TOKEN)
        try:
            matrix = vectorizer.fit_transform([*(text for _, text in texts), question])
        except ValueError:  # no word in any text
            return Match(None, 0.0)
        scores = (matrix[:-1] @ matrix[-1].T).toarray()[:, 0]
        best = int(np.argmax(scores))
        found = scores[best] >= self.threshold
        return Match(texts[best][0] if found else None, float(scores[best]))
