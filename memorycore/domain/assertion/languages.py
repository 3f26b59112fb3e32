"""Which language a text is read in: its script, and for Latin script its small words."""

from collections import Counter

from memorycore.domain.assertion import patterns
from memorycore.domain.assertion.words import LATIN, guess_latin, lemma, words
from memorycore.domain.text import script_class


def language_of(text: str) -> str:
    """The language a levelled, folded text is read in, one of ``LATIN`` and ``CJK``."""
    script = script_class(text)
    if script in patterns.LANGUAGE:
        return patterns.LANGUAGE[script]
    votes: Counter[str] = Counter()
    for word in patterns.WORD.findall(text[:2000].replace("'", " ")):
        owners = guess_latin().get(word, ())
        for language in owners:
            votes[language] += 12 // len(owners)  # a word of one language says more than one of four
    if not votes:
        return max(LATIN, key=lambda language: _known(text[:200], language))  # English, where none knows more
    if len(votes) > 1 and 2 * votes["en"] < 3 * sum(votes.values()) - 3 * votes["en"]:  # who knows the rest?
        for language in LATIN:
            votes[language] += 3 * sum(word in words(language).exact for word in patterns.WORD.findall(text[:2000]))
    best = max(LATIN, key=lambda language: votes[language])
    return best if votes[best] > votes["en"] + (8 if votes["en"] else 0) else "en"


def _known(text: str, language: str) -> int:
    own = words(language)
    found = patterns.WORD.findall(text)
    return sum(word in own.exact or lemma(word, language, own.irregular) in own.stems for word in found)
