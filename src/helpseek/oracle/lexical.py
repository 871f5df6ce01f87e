"""The lexical judge: word overlap by TF-IDF, a baseline that needs no model."""

from __future__ import annotations

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from helpseek.oracle.verdict import Match
from helpseek.tasks.task import Domain, Registry


class LexicalJudge:
    """Picks the blocker with the largest cosine of TF-IDF word 1-2-grams, fitted on the registry itself."""

    name = "lexical"

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def match(self, question: str, registry: Registry, domain: Domain) -> Match:
        """Largest cosine over a blocker's trigger questions and description; ties go to the earlier blocker."""
        texts = [(n, text) for n, b in enumerate(registry) for text in (*b.trigger_questions, b.description)]
        # Word tokens of one letter count: a schema may well be about column `a`.
        vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
        try:
            matrix = vectorizer.fit_transform([text for _, text in texts])
        except ValueError:  # no word in any text
            return Match(None, 0.0)
        scores = (matrix @ vectorizer.transform([question]).T).toarray()[:, 0]
        best = int(np.argmax(scores))
        found = scores[best] >= self.threshold
        return Match(registry.blockers[texts[best][0]].blocker_id if found else None, float(scores[best]))
