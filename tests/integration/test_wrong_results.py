"""What the systems before this one got wrong, through the command line: rules thrown away, facts lost in merges."""

import pytest

from tests.command_line import CommandLine, lines

ROUTES = [
    # A rule that mentions something finished or deleted is a rule.
    ("不要使用已删除的字段, 否则报错", 0.9, "hot", "rule"),
    ("必须在任务已完成后发邮件汇报", 0.95, "hot", "rule"),
    ("Never push to main without review", 0.5, "hot", "rule"),
    ("Never delete the Mem0 export; overflow.py depends on it", None, "hot", "rule"),
    ("User wants concise answers about embedding and importance of sleep", None, "hot", "rule"),
    ("对花生过敏, 吃了会休克", None, "hot", "rule"),
    # A finished line with nothing lasting is none.
    ("Bug 123 fixed, no longer relevant", None, "stale", None),
    # A word inside another word says nothing.
    ("项目要求书已于昨日归档", 0.3, "cold", "state"),
    ("2026-08-15 生日: 女儿已加入足球队", None, "cold", None),
    ("2026-08-15 停用词表更新: 只保留 300 个词", None, "cold", None),
    ("家人的车位端口在B2, 内核成员是姐姐", None, "cold", None),
    ("住在覆盖很广的小区", None, "cold", None),
    ("准确率指标是0.9", None, "cold", None),
    ("汇报群的会议链接是 abc", None, "cold", None),
    ("覆盖物店的电话是 123", None, "cold", None),
    # What is not finished is no record, and a date may be written in many ways.
    ("2026-08-16 未完成: 已配置一半", None, "cold", None),
    ("20260815 拍板方案", None, "cold", "state"),
    ("Decided on 2026-08-15 to use Go; done", None, "cold", "state"),
]
APART = [
    ("Alice's phone is 555-0101", "Bob's phone is 555-0303", "Carol's phone is 555-0404"),
    ("The production database listens on 5432 at host alpha.", "The test database listens on 5433 at host gamma."),
    ("The user prefers tea in the morning", "The user prefers beer in the evening"),
    ("有线网络的密码写在路由器背面", "无线网络的密码写在路由器背面"),
    ("Backups run at 02:00 on server A", "Backups run at 02:00 on server B"),
]
CONTRARY = [
    ("Alice's phone is 555-0101", "Alice's phone is 555-0202"),
    ("The proxy listens on port 8080", "The proxy listens on port 8081"),
    ("用户喜欢香菜", "用户不喜欢香菜"),
    ("The weekly meeting is on Monday", "The weekly meeting is on Tuesday"),
    ("I am allergic to peanuts", "I am not allergic to peanuts"),
    ("I live in Madrid", "I live in Berlin"),
]
ONE = [
    ("The signing key rotates every 30 days", "The signing key rotates every 30 days."),
    ("The capital of France is Paris", "Paris is the capital of France"),
]


def stored(mc: CommandLine, *texts: str) -> list[str]:
    """The statuses of texts that come in one after the other, each by itself."""
    return [mc("store", text, "--json").answer["status"] for text in texts]


def kept(mc: CommandLine) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for line in mc("export").answers:
        found.setdefault(line["state"], set()).add(line["content"])
    return found


def test_each_text_goes_where_it_belongs(mc: CommandLine) -> None:
    asked = [{"content": text, "importance": importance} for text, importance, _, _ in ROUTES]
    ran = mc("store", "--from", "-", "--dry-run", "--json", stdin=lines(asked))
    told = [(text, one["route"], one["type"]) for (text, *_), one in zip(ROUTES, ran.answers, strict=True)]
    assert told == [(text, route, kind) for text, _, route, kind in ROUTES]


@pytest.mark.parametrize("texts", APART, ids=lambda texts: texts[0])
def test_facts_about_different_things_stay_apart(mc: CommandLine, texts: tuple[str, ...]) -> None:
    assert set(stored(mc, *texts)) <= {"stored", "cold_stored"}
    assert kept(mc) == {"active": set(texts)}


@pytest.mark.parametrize("texts", CONTRARY, ids=lambda texts: texts[0])
def test_of_two_texts_that_contradict_each_other_neither_is_lost(mc: CommandLine, texts: tuple[str, ...]) -> None:
    assert stored(mc, *texts)[-1] in {"disputed", "superseded"}
    found = kept(mc)
    assert found["active"] | found.get("superseded", set()) == set(texts)
    assert texts[-1] in found["active"]


@pytest.mark.parametrize("texts", ONE, ids=lambda texts: texts[0])
def test_one_statement_in_two_wordings_is_one_memory(mc: CommandLine, texts: tuple[str, ...]) -> None:
    assert stored(mc, *texts)[-1] in {"duplicate", "cold_duplicate"}
    assert len(kept(mc)["active"]) == 1


def test_two_rules_about_two_folders_both_stay_in_the_prompt(mc: CommandLine) -> None:
    rules = ("Never delete anything in /srv/a", "Never delete anything in /srv/b")
    stored(mc, *rules)
    assert set((mc.hot / "MEMORY.md").read_text(encoding="utf-8").split("\n§\n")) == set(rules)
