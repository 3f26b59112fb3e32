"""Admission: the one way into memory. A text becomes a candidate, and the candidate one transition."""

from memorycore.intake.admission import Admission, Admitted, Preview
from memorycore.intake.candidate import GLOBAL, POINTER, QUARANTINED, Candidate, as_data, known, only_points
from memorycore.intake.gate import GateNote, Shown, admit, as_kept, as_logged, clean, clean_name
from memorycore.intake.judging import Decision, Judged, decide, inherited, is_for_a_person
from memorycore.intake.place import MakeRoom, Room, bring_in
from memorycore.intake.record import Outcome, Recorded

__all__ = [
    "GLOBAL",
    "POINTER",
    "QUARANTINED",
    "Admission",
    "Admitted",
    "Candidate",
    "Decision",
    "GateNote",
    "Judged",
    "MakeRoom",
    "Outcome",
    "Preview",
    "Recorded",
    "Room",
    "Shown",
    "admit",
    "as_data",
    "as_kept",
    "as_logged",
    "bring_in",
    "clean",
    "clean_name",
    "decide",
    "inherited",
    "is_for_a_person",
    "known",
    "only_points",
]  # fmt: skip
