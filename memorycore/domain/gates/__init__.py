"""Gates that every text passes on its way in: what of it is a secret, personal data, an order to the agent, or noise.

Each gate is a function of the text alone. It answers findings, and what happens to them is decided by the caller.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Gate = Literal["secret", "pii", "injection", "noise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one gate saw in a text.

    ``rule`` is a stable name ("github_token", "iban", "override"). ``start`` and ``end`` count code points of the text
    as it was given; both are 0 when the finding is about the text as a whole.
    """

    gate: Gate
    rule: str
    start: int = 0
    end: int = 0


# What stands in place of a masked value. Gates look over it, so that a masked text stays as it is.
MARKER = re.compile(r"\[(?:secret|personal data|密文|个人信息)[:：] ?([^\[\]\n]{1,60})\]")
_HAN = re.compile("[\u4e00-\u9fff]")
_KANA_OR_HANGUL = re.compile("[\u3040-\u30ff\uac00-\ud7af]")


@cache
def vocabulary(name: str) -> dict[str, Any]:
    """A file of ``domain/vocabulary``, read once and when first needed."""
    return tomllib.loads((files("memorycore.domain.vocabulary") / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def _names() -> dict[str, tuple[str, str]]:
    """English and Chinese name of every rule whose findings are masked."""
    names: dict[str, tuple[str, str]] = {}
    for file in ("secrets", "secret_labels", "personal"):
        words = vocabulary(file)
        names |= {rule: (entry["en"], entry["zh"]) for rule, entry in words.get("formats", {}).items()}
        names |= {rule: (english, chinese) for rule, (english, chinese) in words.get("names", {}).items()}
    return names


def name_of(rule: str, language: Literal["en", "zh"] = "en") -> str:
    """What people call what a rule finds: "GitHub token", "GitHub 令牌"; the rule itself when it has no name."""
    english, chinese = _names().get(rule, (rule, rule))
    return chinese if language == "zh" else english


def is_name(name: str) -> bool:
    """Whether ``mask`` writes markers with this name: anything else between brackets is text like any other."""
    return any(name in pair for pair in _names().values()) or name in _names()


def mask(text: str, findings: Iterable[Finding]) -> str:
    """The text with a marker in place of each secret and each piece of personal data, in the language of the text.

    Lines stay lines. Masking what is masked changes nothing, for the gates look over markers. Findings about the text
    as a whole and findings of the other gates leave it as it is.
    """
    spans = sorted(
        (finding.start, finding.end, finding.gate, finding.rule)
        for finding in findings
        if finding.gate in {"secret", "pii"} and finding.end > finding.start
    )
    chinese = bool(_HAN.search(text)) and not _KANA_OR_HANGUL.search(text)
    parts: list[str] = []
    reached = 0
    for start, end, gate, rule in spans:
        if start < reached:
            continue
        if chinese:
            marker = f"[{'密文' if gate == 'secret' else '个人信息'}：{name_of(rule, 'zh')}]"
        else:
            marker = f"[{'secret' if gate == 'secret' else 'personal data'}: {name_of(rule)}]"
        parts += [text[reached:start], marker]
        reached = end
    return "".join([*parts, text[reached:]])
