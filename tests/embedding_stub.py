"""A foreign embedding service on the loopback, as good or as bad as a test wants it."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from memorycore.testing import HashingEmbedder
from tests.loopback import Answer, Answerer, Served, serving

_MODEL = HashingEmbedder(width=32)


@dataclass
class Stub(Served):
    def texts(self) -> list[str]:
        return [text for body in self.requests for text in body["input"]]


def vectors(texts: Sequence[str], width: int = 32) -> list[list[float]]:
    model = _MODEL if width == _MODEL.width else HashingEmbedder(width)
    return model.embed_passages(texts).tolist()


def rows(embeddings: Sequence[object]) -> Answer:
    """An answer in the OpenAI shape."""
    return Answer(body={"data": [{"index": number, "embedding": row} for number, row in enumerate(embeddings)]})


def good(body: dict[str, Any]) -> Answer:
    return rows(vectors(body["input"]))


def refuses_when(wrong: Callable[[str], bool], answer: Answer) -> Answerer:
    """Good, but for requests with a text that is wrong."""
    return lambda body: answer if any(map(wrong, body["input"])) else good(body)


@contextmanager
def stub(answer: Answerer = good, *, port: int = 0) -> Generator[Stub]:
    """Serve on a port of the loopback until the block ends."""
    served = Stub(answer=answer)
    with serving(served, port=port):
        yield served


def wait_until(condition: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
