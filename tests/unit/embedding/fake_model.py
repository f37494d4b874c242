"""A model that is only arithmetic, for tests of what stands around models."""

from __future__ import annotations

import threading

import numpy as np

from remora.embedding.protocol import EmbeddingUnavailable, Identity


class FakeModel:
    """Vectors tell the length of the text; `gate` holds runs back, `broken` refuses to load."""

    name = "fake"
    multilingual = False
    identity = Identity("fake", "fake", "1", 2)

    def __init__(self, broken=False, fails=False):
        self.broken, self.fails = broken, fails
        self.gate = threading.Event()
        self.gate.set()
        self.running = threading.Event()
        self.runs = []

    def load(self):
        if self.broken:
            raise EmbeddingUnavailable("damaged", retry=False)

    def tokens(self, text, role):
        return list(range(len(text)))

    def run(self, token_lists):
        self.running.set()
        self.gate.wait()
        if self.fails:
            raise RuntimeError("boom")
        self.runs.append([len(tokens) for tokens in token_lists])
        return np.array([[len(tokens), 1.0] for tokens in token_lists], np.float32)

    def describe(self):
        return {"model": "fake"}
