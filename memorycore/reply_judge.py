"""What the judge answers, with a sentence for each piece of evidence; no decisions are made here."""

from collections.abc import Iterable, Mapping

from memorycore import answers, messages
from memorycore.domain.judge import Evidence, Verdict
from memorycore.options import Language


def judgement(verdict: Verdict, language: Language, *, likeness: float | None = None) -> answers.Judgement:
    """``likeness`` is told where the model was asked for it."""
    answer: answers.Judgement = {
        "relation": verdict.relation,
        "evidence": evidence(verdict.evidence, language),
        "limited": verdict.limited,
        "undecided": verdict.undecided,
    }
    if likeness is not None:
        answer["likeness"] = likeness
    return answer


def evidence(signs: Iterable[Evidence | Mapping[str, str]], language: Language) -> list[answers.Sign]:
    """Each sign with its words and its sentence; kept ones come as mappings."""
    return [_sign(one, language) for one in signs]


def _sign(one: Evidence | Mapping[str, str], language: Language) -> answers.Sign:
    told = {"code": one.code, "old": one.old, "new": one.new} if isinstance(one, Evidence) else one
    code, old, new = (str(told.get(name, "")) for name in ("code", "old", "new"))
    return {"code": code, "old": old, "new": new, "says": messages.text(f"evidence.{code}", language, old=old, new=new)}
