"""What every benchmark prints: where it ran, and a table or one JSON object."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from memorycore import __version__


def machine() -> dict[str, object]:
    """Processor, cores, system and Python, as they belong beside a figure."""
    return {
        "memorycore": __version__,
        "date": datetime.now(UTC).date().isoformat(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load": [round(value, 1) for value in os.getloadavg()] if hasattr(os, "getloadavg") else [],
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def show(name: str, rows: Sequence[Mapping[str, object]], *, as_json: bool, **more: object) -> None:
    """Print one result: a JSON object, or a table with the machine above it."""
    where = machine()
    if as_json:
        print(json.dumps({"benchmark": name, "machine": where, **more, "rows": list(rows)}, ensure_ascii=False))
        return
    print(f"{name} · " + " · ".join(f"{key} {value}" for key, value in {**where, **more}.items()))
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_cell(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(len(column), *(len(line[place]) for line in cells)) for place, column in enumerate(columns)]
    for line in [columns, *cells]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies, by the nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
