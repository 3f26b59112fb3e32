"""A daemon has loaded all of its own code before calls begin: an upgrade beneath it mixes no two versions."""

import os
import subprocess
import sys
from pathlib import Path

from tests.daemons import ROOT

EVERY_ROUTE = """
import sys
from memorycore.daemon.run import load
LIBRARIES = ("memorycore", "numpy", "opencc", "sqlite_vec")
load()
known = set(sys.modules)
from memorycore.core import MemoryCore
from memorycore.errors import MemoryCoreError
from memorycore.server.boundary import run_tool
from memorycore.server.caller import Caller
from memorycore.server.desk import Desk
from memorycore.settings import load_settings
from memorycore.web import calls
from memorycore.web.given import Given
settings = load_settings({"HOME": sys.argv[1], "MEMORYCORE_EMBED_MODEL": "none"})
desk = Desk(lambda: MemoryCore.open(settings.core_options(), long_lived=True), language="en")
caller = Caller(name="test", session_id="s", bound=False, via="api")
said = {"content": "The kiln in Ghent is fired on Tuesdays.", "session_id": "s", "host": "hermes", "missed": {}}
said |= {"query": "kiln in Ghent", "last": True, "texts": ["The oven in Ghent is cold."]}
for route, tool in calls.table(settings, Given()).items():
    try:
        run_tool(desk, tool, {name: said[name] for name in said if name in tool.ask.model_fields}, caller)
    except MemoryCoreError:
        assert route in {"update", "restore", "inspect"}, route
desk.close(grace_s=1)
print(sorted(name for name in set(sys.modules) - known if name.startswith(LIBRARIES)))
"""
WORD_LISTS = "memorycore.domain.vocabulary"  # a folder of data


def test_no_call_loads_code_of_ours(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", EVERY_ROUTE, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert ran.stdout.strip() in {"[]", f"['{WORD_LISTS}']"}, ran.stdout + ran.stderr
