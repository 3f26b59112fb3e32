"""Admission: the one way into memory. A text becomes a candidate, and the candidate one transition."""

from memorycore.intake.admission import Admission, Admitted
from memorycore.intake.candidate import GLOBAL, Candidate, Recorded, known

__all__ = ["GLOBAL", "Admission", "Admitted", "Candidate", "Recorded", "known"]
