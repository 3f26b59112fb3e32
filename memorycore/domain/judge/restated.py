"""A new text of several clauses, one of which says the old statement again with another value."""

import re

from memorycore.domain.assertion import Assertion, assertion_of, assertion_of_clause
from memorycore.domain.judge.case import Case, case_between
from memorycore.domain.judge.conflict import VALUES
from memorycore.domain.judge.replacement import one_thing_for_another
from memorycore.domain.judge.verdict import Verdict, verdict

_CLAUSE_END = re.compile(r"[,;:](?!\d)|\.\s")
_MOST_CLAUSES = 4
_OVER = re.compile("了|\\b(?:has|have|left|retired|quit|raised|gone|went)\\b")


def restated(case: Case) -> Verdict | None:
    """``the conductor has left; the conductor is Maren``: superseded when the rest tells that something happened."""
    clauses = [part.strip() for part in _CLAUSE_END.split(case.new.text) if part.strip()]
    if not 1 < len(clauses) <= _MOST_CLAUSES or not any(term.subject for term in case.old.content):
        return None
    for clause in clauses:
        part = case_between(assertion_of(case.old.said), assertion_of_clause(clause))
        if part.old.language != part.new.language or not _of_the_same(part.old, part.new) or part.strangers:
            continue
        found = one_thing_for_another(part)
        if found is not None and found.relation in {"disputes", "supersedes"} and found.evidence[-1].code in VALUES:
            news = [other for other in clauses if other != clause and other not in case.old.text]
            happened = case.change or any(map(_OVER.search, news))
            signs = [case.change, *found.evidence] if case.change else [*found.evidence]
            return verdict("supersedes" if happened else "disputes", *signs)
    return None


def _of_the_same(old: Assertion, new: Assertion) -> bool:
    """The clause names the subject of the old statement."""
    return bool({term.key for term in old.content if term.subject} & {term.key for term in new.content if term.subject})
