"""A foreign chat service on the loopback, as good or as bad as a test wants it."""

import json
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from memorycore.llm.answers import LABELS
from memorycore.options import LlmOptions
from tests.loopback import Answer, Answerer, Served, serving

Texts = tuple[str, str]


@dataclass
class Stub(Served):
    """A model behind a service; ``answer`` may be replaced any time."""

    def options(self, **given: Any) -> LlmOptions:
        return replace(LlmOptions(url=self.url, model="judge-1", timeout_s=5.0), **given)

    def sent(self) -> str:
        return json.dumps(self.requests, ensure_ascii=False)


def says(words: object) -> Answer:
    """An answer in the OpenAI shape."""
    return Answer(body={"choices": [{"index": 0, "message": {"role": "assistant", "content": words}}]})


def label(word: str) -> Answer:
    return says(json.dumps({"relation": word}))


def always(word: str) -> Answerer:
    return lambda _: label(word)


def texts_of(body: dict[str, Any]) -> Texts:
    """(old, new) of a question, in whatever words it asks."""
    fields = json.loads(body["messages"][-1]["content"].split("\n")[1])
    return cast("Texts", (fields.get("old", fields.get("earlier")), fields.get("new", fields.get("later"))))


def knows(verdicts: dict[Texts, str]) -> Answerer:
    """An honest model: it looks at the two texts and calls everything else different."""
    return lambda body: label(verdicts.get(texts_of(body), "different"))


def obeys(body: dict[str, Any]) -> Answer:
    """A model that does what a text tells it: the last label named in the texts is its answer."""
    named = re.findall("|".join(LABELS), " ".join(texts_of(body)))
    return label(named[-1] if named else "different")


def in_turn(words: Iterable[str]) -> Answerer:
    left = iter(words)
    return lambda _: label(next(left))


@contextmanager
def stub(model: Answerer) -> Generator[Stub]:
    """Serve on a port of the loopback until the block ends."""
    served = Stub(answer=model)
    with serving(served):
        yield served
