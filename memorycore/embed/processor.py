"""What must be known about the processor before native code is loaded, and what must be told to it."""

import ctypes
import hashlib
import os
import platform
import sys
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_X86 = frozenset({"x86_64", "amd64", "i386", "i686"})
_NEEDED_FLAGS = frozenset({"avx2", "fma"})
_WINDOWS_AVX2 = 40  # PF_AVX2_INSTRUCTIONS_AVAILABLE


def settle_threads() -> None:
    """One thread for native numerics, and no busy waiting, unless the user decided otherwise.

    The libraries read these names when they load. With their defaults a query takes seconds on a busy machine: idle
    threads spin for work that one thread finishes in milliseconds.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def lacks_avx2(*, machine: str = "", cpuinfo: Path = _CPUINFO) -> bool:
    """Whether this is an x86 processor that certainly has no AVX2 with FMA. False also means: nobody knows."""
    if (machine or platform.machine()).lower() not in _X86:
        return False
    if sys.platform == "win32":
        return not ctypes.windll.kernel32.IsProcessorFeaturePresent(_WINDOWS_AVX2)
    flags = _flags(cpuinfo)
    return bool(flags) and not flags >= _NEEDED_FLAGS


def processor_identity() -> str:
    """A short name that changes when the processor's abilities may have changed (a container moved, a disk swapped)."""
    facts = " ".join((platform.machine(), platform.processor(), *sorted(_flags(_CPUINFO))))
    return hashlib.sha256(facts.encode("utf-8")).hexdigest()[:16]


def _flags(cpuinfo: Path) -> frozenset[str]:
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "flags":
            return frozenset(value.split())
    return frozenset()
