"""Which steps there are. Order matters: a run of all of them goes from top to bottom."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSpec:
    """One step: how often it runs, whether it is quick enough for a server that has clients, what it is about.

    ``whole_store``: it looks after the database as a whole and has one lease for all namespaces. ``by_itself`` False:
    it runs only where somebody asks for it, or as part of a pass of the capacity gate.
    """

    name: str
    every: timedelta
    light: bool = False
    whole_store: bool = False
    by_itself: bool = True


_SPECS = (
    StepSpec(name="reconcile", every=timedelta(minutes=10), light=True),
    StepSpec(name="overflow", every=timedelta(minutes=30)),
    StepSpec(name="integrity", every=timedelta(days=1), whole_store=True),
    StepSpec(name="reembed", every=timedelta(minutes=30), whole_store=True),
    StepSpec(name="dedup", every=timedelta(hours=6), light=True),
    StepSpec(name="conflicts", every=timedelta(hours=6)),
    StepSpec(name="expire", every=timedelta(hours=1), light=True),
    StepSpec(name="decay", every=timedelta(days=1), light=True),
    StepSpec(name="verify", every=timedelta(days=1)),
    StepSpec(name="consolidate", every=timedelta(hours=12), light=True),
    StepSpec(name="purge", every=timedelta(hours=12), light=True),
    StepSpec(name="capacity", every=timedelta(minutes=5), light=True),
    StepSpec(name="remote", every=timedelta(minutes=5), light=True),
    StepSpec(name="questions", every=timedelta(days=1), light=True),
    StepSpec(name="uses", every=timedelta(hours=6), light=True, whole_store=True),
    StepSpec(name="compact", every=timedelta(days=1), whole_store=True),
    StepSpec(name="checkpoint", every=timedelta(hours=1), light=True, whole_store=True),
    StepSpec(name="backup", every=timedelta(days=1), whole_store=True),
)
STEPS: Mapping[str, StepSpec] = {spec.name: spec for spec in _SPECS}
