"""Sentences for people, in English and Simplified Chinese, under stable codes.

The texts stand in ``en.toml`` and ``zh.toml``; each was written in its language. A sentence holds ``{facts}``, and
parts in ``[brackets]`` that are left out when one of their facts is missing. ``{count:text|texts}`` is a number and its
noun.
"""

import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast, get_args

from memorycore.domain.terms import Language
from memorycore.errors import MemoryCoreError

if TYPE_CHECKING:
    from memorycore.answers import Problem

LANGUAGES: tuple[Language, ...] = get_args(Language)
# Codes of these tables stand alone ("not_found"); those of the others carry the table's name ("heading.hot").
_BARE = ("error", "reason")
_GIVEN = frozenset({"id", "value", "what"})  # facts that a caller typed
_LONGEST_NAME = 36  # an id; no key that is worth hiding is shorter and stands alone
_OPTIONAL = re.compile(r"\[([^\[\]]*\{[^\[\]]*)\]")
_FACT = re.compile(r"\{(\w+)(?::([^{}|]+)\|([^{}|]+))?\}")


@lru_cache(maxsize=len(LANGUAGES))
def catalogue(lang: Language) -> Mapping[str, str]:
    """Every code of one language with its sentence."""
    import tomllib
    from importlib.resources import files  # whoever only reads settings does without it

    content = files(__name__).joinpath(f"{lang}.toml").read_text(encoding="utf-8")
    tables = cast("dict[str, dict[str, str]]", tomllib.loads(content))
    words = {
        (code if table in _BARE else f"{table}.{code}"): sentence
        for table, sentences in tables.items()
        for code, sentence in sentences.items()
    }
    for code, why in tables["model"].items():
        words[f"why.{code}"] = why
        words[f"degraded.{code}"] = words["degraded.model"].replace("{why}", why)
    return words


def text(code: str, lang: Language, **facts: object) -> str:
    """The sentence of a code with its facts put in. An unknown code is its own text: an answer never fails for it."""
    return fill(catalogue(lang).get(code, code), facts)


def day(moment: date, lang: Language) -> str:
    """A day as people write it: 12 Oct, 10月12日."""
    names = catalogue(lang)["calendar.months"].split()
    return text("calendar.day", lang, day=moment.day, name=names[moment.month - 1])


def has(code: str, lang: Language) -> bool:
    return code in catalogue(lang)


def reason(code: str, lang: Language, **facts: object) -> str:
    """``code: sentence``, as the answers' ``reasons`` carry it; scripts use what stands before the colon."""
    return f"{code}: {text(code, lang, **facts)}"


def error_text(error: MemoryCoreError, lang: Language, *, of_a_line: bool = False) -> str:
    """What happened, whether the text is safe, what to do. ``of_a_line``: others of the same input may have come in."""
    words = catalogue(lang)
    facts = {name: _shown(fact) if name in _GIVEN else fact for name, fact in error.facts.items()}
    if isinstance(why := facts.get("why"), str):
        # A code of ours becomes words, or a reason does; what a system said stays as it is.
        facts["why"] = fill(words.get(f"why.{why}", words.get(why, why)), facts)
    sentence = words.get(error.code, words["error"])
    return fill(words.get(f"of_a_line.{error.code}", sentence) if of_a_line else sentence, facts)


def _shown(fact: object) -> object:
    """A fact without what nobody should read in a log: callers put the text of a memory where an id belongs."""
    if not isinstance(fact, str) or len(fact) <= _LONGEST_NAME:
        return fact
    from memorycore.domain.gates import mask, secrets

    return mask(fact, secrets.find(fact))


def problem(error: MemoryCoreError, lang: Language) -> "Problem":
    """The refusal as every surface answers it."""
    return {"ok": False, "code": error.code, "message": error_text(error, lang), "retryable": error.retryable}


def fill(sentence: str, facts: Mapping[str, Any]) -> str:
    """Put facts into a sentence; one pass, so that braces or brackets inside a fact do nothing."""
    present = {name: value for name, value in facts.items() if value is not None and value != ""}

    def part(match: re.Match[str]) -> str:
        inner = match[1]
        return inner if all(found[1] in present for found in _FACT.finditer(inner)) else ""

    def fact(match: re.Match[str]) -> str:
        value = str(present.get(match[1], "–"))
        return f"{value} {match[2] if value == '1' else match[3]}" if match[2] else value

    return _FACT.sub(fact, _OPTIONAL.sub(part, sentence))


def language_of(name: str) -> Language | None:
    """``zh_CN.UTF-8``, ``zh-Hans``, ``en``: the language of a locale name; None when we do not speak it."""
    first = re.split(r"[-_.@]", name.strip().lower(), maxsplit=1)[0]
    return {"zh": "zh", "chinese": "zh", "en": "en", "english": "en"}.get(first)  # type: ignore[return-value]


def language(env: Mapping[str, str]) -> Language:
    """``MEMORYCORE_LANG``, else the locale; English where neither says anything that we speak."""
    for variable in ("MEMORYCORE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := env.get(variable, ""):
            return language_of(value) or "en"
    import locale

    return language_of(locale.getlocale()[0] or "") or "en"
