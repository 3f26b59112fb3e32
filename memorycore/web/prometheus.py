"""``/metrics``: what the process counted, and how things stand now, as Prometheus reads it (text format 0.0.4)."""

from collections import Counter
from typing import TYPE_CHECKING

from memorycore import __version__, metrics
from memorycore.metrics import DECLARED, Labels, Sample

if TYPE_CHECKING:
    from memorycore.core import MemoryCore
    from memorycore.server.clients import Clients

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def page() -> str:
    """Every metric that has a value, in the order of their declaration."""
    lines: list[str] = []
    for name, samples in metrics.samples().items():
        lines += [f"# HELP {name} {DECLARED[name].help}", f"# TYPE {name} {DECLARED[name].kind}"]
        lines += [f"{sample.name}{_labels(sample.labels)} {_number(sample)}" for sample in samples]
    return "\n".join(lines) + "\n"


def look(core: "MemoryCore", clients: "Clients", started: float) -> None:
    """Put down how things stand now, in the store and in this process."""
    status = core.status()
    usage = status["usage"]
    metrics.put("memorycore_build_info", 1, version=__version__)
    metrics.put("process_start_time_seconds", started)
    metrics.put("memorycore_degraded", float(bool(usage["degraded"])))
    metrics.put("memorycore_database_size_bytes", status["database_bytes"])
    metrics.put("memorycore_vectors_pending", usage["cold"]["pending"])
    metrics.put("memorycore_memories", sum(hot["entries"] for hot in usage["hot"]), tier="hot")
    metrics.put("memorycore_memories", usage["cold"]["total"], tier="cold")
    metrics.put("memorycore_memories_in_bin", usage["binned"])
    for hot in usage["hot"]:
        metrics.put("memorycore_hot_file_characters", hot["chars"], target=hot["target"])
        metrics.put("memorycore_hot_file_limit_characters", hot["limit"], target=hot["target"])
    here = Counter(client.way for client in clients.all())
    for way in ("relay", "mcp"):
        metrics.put("memorycore_clients_open", here[way], via=way)


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(sample: Sample) -> str:
    return repr(int(sample.value)) if float(sample.value).is_integer() else repr(float(sample.value))
