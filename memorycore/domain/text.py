"""Text as memory sees it: compared, hashed, cut into search tokens. The stored text is never changed by this."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from operator import add

# Scripts that are written without blanks between words: runs of them become bigrams.
_CJK = (
    r"\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303b\u3040-\u30ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
)
_FIRST_CJK = "\u2e80"
_CJK_RUN = re.compile(f"[{_CJK}]+")
_WORD_OR_CJK_RUN = re.compile(f"[{_CJK}]+|[^\\W_{_CJK}]+")
_BLANK_BESIDE_CJK_PUNCTUATION = re.compile(
    r"(?<=[,.!?:;()\[\]{}\"'、])\s+(?=[^\x00-\x7f])|(?<=[^\x00-\x7f])\s+(?=[,.!?:;()\[\]{}\"'、])"
)
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")

# One sign for each family of punctuation, so that keyboards and input methods do not make two texts of one.
_ONE_SIGN = {
    "。": ".", "｡": ".", "，": ",", "；": ";", "：": ":", "？": "?", "！": "!", "（": "(", "）": ")",
    "【": "[", "】": "]", "「": '"', "」": '"', "『": '"', "』": '"', "《": '"', "》": '"',
    "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'",
    "`": "'", "´": "'", "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "―": "-", "−": "-",
    "～": "~", "〜": "~", "…": "...", "·": ".", "・": ".",
}  # fmt: skip
_SIGNS = frozenset(_ONE_SIGN)


def sanitise(text: str) -> str:
    """Drop NUL and replace lone surrogates: the only two things that no store, file or model can carry."""
    return _LONE_SURROGATE.sub("\ufffd", text.replace("\x00", ""))


def _with_one_sign(text: str) -> str:
    if text.isascii():  # of all these signs it can hold one
        return text.replace("`", "'")
    for sign in _SIGNS.intersection(text):  # a dozen times faster than ``translate``, which stops at every character
        text = text.replace(sign, _ONE_SIGN[sign])
    return text


@cache
def _simplified() -> dict[str, str]:
    """Traditional → simplified characters, one by one, from OpenCC's table."""
    table: dict[str, str] = {}
    text = (files("opencc") / "dictionary" / "TSCharacters.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        traditional, _, simplified = line.partition("\t")
        if len(traditional) == 1 and simplified:
            table[traditional] = simplified.split(" ")[0]
    return table


@cache
def _traditional() -> frozenset[str]:
    return frozenset(_simplified())


def _in_simplified(text: str) -> str:
    if _traditional().isdisjoint(text):
        return text
    table = _simplified()
    return "".join(table.get(character, character) for character in text)


def fold(text: str) -> str:
    """Width, case, composition and script folded, for search: ``ＡＢＣ設定`` → ``abc设定``."""
    if text.isascii():  # half of what is stored, and nothing else of this touches it
        return text.lower()
    return _in_simplified(unicodedata.normalize("NFKC", text).casefold())


def normalise_for_compare(text: str) -> str:
    """The form in which two texts count as the same text.

    Folds width, case, composition, traditional/simplified script, runs of blanks, punctuation variants, blanks beside
    CJK punctuation and a final full stop. Two texts that differ in a word, a digit or a sign of negation never meet.
    """
    folded = _with_one_sign(fold(_with_one_sign(text)))
    folded = " ".join(folded.split())
    if not folded.isascii():
        folded = _BLANK_BESIDE_CJK_PUNCTUATION.sub("", folded)
    return folded.rstrip(".") or folded


def level(text: str) -> str:
    """Width, composition, script and punctuation variants folded, case kept: since capitals tell names."""
    if text.isascii():
        return _with_one_sign(text)
    return _in_simplified(_with_one_sign(unicodedata.normalize("NFKC", _with_one_sign(text))))


def norm_hash(text: str) -> str:
    """SHA-256 hex of the compared form."""
    return hashlib.sha256(normalise_for_compare(text).encode("utf-8")).hexdigest()


def entry_hash(text: str) -> str:
    """SHA-256 hex of the stripped text's UTF-8 bytes: the key of a hot entry in its sidecar."""
    return hashlib.sha256(text.strip().encode("utf-8")).hexdigest()


def holds_lines(text: str, lines: str) -> bool:
    """Whether ``lines`` stand in ``text`` as whole lines, one after the other."""
    return f"\n{lines}\n" in f"\n{text}\n"


def replace_lines(text: str, lines: str, by: str) -> str:
    """``text`` with other lines in the place of some, which it must hold; what stands around them stays."""
    head, _, tail = f"\n{text}\n".partition(f"\n{lines}\n")
    return f"{head}\n{by}\n{tail}".strip("\n")


def index_tokens(text: str) -> str:
    """Text for the keyword index: words, and for CJK runs every bigram and every single character."""
    return " ".join(_tokens(text, singles=True))


def query_tokens(text: str, *, singles: bool = False) -> list[str]:
    """Tokens to ask the keyword index for, without repeats, in order.

    CJK runs become bigrams; a run of one character, or ``singles``, gives single characters.
    """
    if text.isascii():
        return list(dict.fromkeys(_WORD_OR_CJK_RUN.findall(text.lower())))
    return list(dict.fromkeys(_tokens(text, singles=singles)))


def _tokens(text: str, *, singles: bool) -> Iterator[str]:
    for run in _WORD_OR_CJK_RUN.findall(fold(text)):
        if run[0] < _FIRST_CJK or not _CJK_RUN.match(run):
            yield run
            continue
        if singles or len(run) == 1:
            yield from run
        yield from map(add, run, run[1:])


_SCRIPTS = (
    ("kana", re.compile(r"[\u3040-\u30ff]")),
    ("hangul", re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")),
    ("han", re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")),
    ("cyrillic", re.compile(r"[\u0400-\u04ff]")),
    ("arabic", re.compile(r"[\u0600-\u06ff]")),
)
_LATIN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+")
SCRIPT_CLASSES = ("latin", "han", "kana", "hangul", "cyrillic", "arabic")


def script_class(text: str) -> str:
    """The script that a text is mostly written in, one of ``SCRIPT_CLASSES``.

    A CJK character weighs as much as two Latin words; a text is called by its own script from 30 % on. Kana decides
    for Japanese before Han does, since Japanese text is full of Han characters.
    """
    if text.isascii():
        return "latin"
    latin = 2 * len(_LATIN_WORD.findall(text))
    counts = {name: len(pattern.findall(text)) for name, pattern in _SCRIPTS}
    total = sum(counts.values()) + latin
    if not total or sum(counts.values()) / total <= 0.3:  # noqa: PLR2004 measured on mixed Chinese and English texts
        return "latin"
    if counts["kana"] * 5 >= counts["han"] and counts["kana"]:
        return "kana"
    return max(counts, key=lambda name: counts[name])


_SENTENCE_END = re.compile(r"(?<=[。！？!?；;\n])|(?<=\.)(?=\s)")


def split_parts(text: str, limit_chars: int) -> list[str]:
    """Cut a long text at sentence ends into parts of at most ``limit_chars`` code points; nothing is lost."""
    if len(text) <= limit_chars:
        return [text]
    parts: list[str] = []
    current = ""
    for sentence in _SENTENCE_END.split(text):
        rest = sentence
        while rest:
            room = limit_chars - len(current)
            if len(rest) <= room:
                current, rest = current + rest, ""
            elif current:
                parts.append(current)
                current = ""
            else:
                parts.append(rest[:limit_chars])
                rest = rest[limit_chars:]
    return [part for part in [*parts, current] if part.strip()]
