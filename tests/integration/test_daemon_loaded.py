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


LIBRARY = {
    "numpy/__init__.py": "import sys, time\nsys.begun.set()\ntime.sleep(0.3)\nfrom numpy.typing import NDArray\n",
    "numpy/typing.py": "import numpy\nNDArray = list\n",
    "sqlite_vec.py": "import numpy.typing\nloadable_path = str\n",
}
TWO_THREADS = """
import sys, threading
from memorycore.store.engine import vec0_path
sys.begun = threading.Event()
failed = []
def whole():
    try:
        import numpy
    except ImportError as error:
        failed.append(error)
thread = threading.Thread(target=whole)
thread.start()
sys.begun.wait()
vec0_path()
thread.join()
print(failed)
"""


def test_the_vector_index_begins_with_no_part_of_what_another_thread_loads_whole(tmp_path: Path) -> None:
    for name, content in LIBRARY.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", TWO_THREADS],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    assert ran.stdout.strip() == "[]", ran.stdout + ran.stderr
