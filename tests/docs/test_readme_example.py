import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.docs.pages import READMES, blocks_of, name_of

# The six things that an agent is told, and what the READMEs say about each.
TOLD = {
    "README.md": (
        ("Never push to main; open a pull request and wait for review.", "hot"),
        ("The staging database listens on port 5433.", "cold"),
        ("发布只在周二和周四进行，周五绝不发布。", "hot"),
        ("On 8 June 2026 the API was down for 41 minutes because its certificate had expired.", "cold"),
        ("Ran the test suite, all green.", "bin"),
        ("never push to main; open a pull request and wait for review", "hot"),
    ),
    "README.zh-CN.md": (
        ("绝不直接推送到 main，先提合并请求，等人审过。", "hot"),
        ("预生产数据库用 5433 端口。", "cold"),
        ("Releases happen on Tuesdays and Thursdays only, never on a Friday.", "hot"),
        ("2026 年 6 月 8 日接口停了 41 分钟，原因是证书过期。", "cold"),
        ("测试跑完了，全部通过。", "bin"),
        ("绝不直接推送到 main,先提合并请求,等人审过", "hot"),
    ),
}


@pytest.mark.parametrize("readme", READMES, ids=name_of)
def test_the_before_and_after_of_a_readme_is_what_happens(readme: Path, env: Mapping[str, str], home: Path) -> None:
    (shown,) = [block.text.splitlines() for block in blocks_of(readme) if block.language == "diff"]
    memories = home / "memories"
    memories.mkdir()
    file = memories / "MEMORY.md"
    file.write_text("\n".join(line[1:] for line in shown if line.startswith(" ")), encoding="utf-8")
    for text, tier in TOLD[readme.name]:
        stored = subprocess.run(
            ["memorycore", "store", text, "--json"],
            env={**env, "MEMORY_DIR": str(memories)},
            cwd=home,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        )
        assert f'"tier": "{tier}"' in stored.stdout, text
    assert file.read_text(encoding="utf-8") == "\n".join(line[1:] for line in shown)
