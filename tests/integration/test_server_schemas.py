"""What a client sees before it calls anything: tools, schemas, hints, instructions, resources, prompts."""

from collections.abc import Iterator
from typing import Any, cast

import anyio
import pytest
from mcp.types import ListToolsResult

from memorycore.errors import NotAvailable
from memorycore.server.app import INSTRUCTIONS, MemoryServer
from memorycore.server.asks import Recall, StoreFact, Update
from memorycore.server.desk import Desk
from memorycore.server.tending import TENDING, TOOLSETS
from memorycore.server.tools import TOOLS

CORE_TEN = [
    "memorycore_store_fact",
    "memorycore_recall",
    "memorycore_memory_audit",
    "memorycore_get_memory_usage",
    "memorycore_trigger_overflow",
    "memorycore_run_cold_storage_maintenance",
    "memorycore_update",
    "memorycore_forget",
    "memorycore_restore",
    "memorycore_inspect",
]
# Hosts scan descriptions for phrases that look like an attack.
SUSPICIOUS = ("ignore", "do not tell", "don't tell", "secretly", "curl http", "system prompt", "disregard")


def a_server(toolset: str = "core") -> MemoryServer:
    def never() -> Any:
        raise NotAvailable(what="core", why="not needed here")

    return MemoryServer(Desk(never, language="en"), TOOLSETS[toolset])


def listed(toolset: str = "core") -> ListToolsResult:
    return ListToolsResult(tools=anyio.run(a_server(toolset).list_tools))


def parts(schema: object) -> Iterator[dict[str, Any]]:
    """Every object inside a schema, itself included."""
    if isinstance(schema, dict):
        known = cast("dict[str, Any]", schema)
        yield known
        for value in known.values():
            yield from parts(value)
    elif isinstance(schema, list):
        for value in cast("list[object]", schema):
            yield from parts(value)


def test_exactly_the_ten_core_tools_are_listed() -> None:
    assert [tool.name for tool in listed().tools] == CORE_TEN


def test_the_full_toolset_adds_those_for_looking_after_the_memory() -> None:
    assert [tool.name for tool in listed("full").tools] == [*CORE_TEN, *(tool.name for tool in TENDING)]
    assert "memorycore_undo" in {tool.name for tool in TENDING}


def test_the_whole_list_takes_at_most_8000_characters() -> None:
    assert len(listed().model_dump_json(by_alias=True, exclude_none=True)) <= 8000


@pytest.mark.parametrize("tool", TOOLSETS["full"], ids=lambda tool: tool.name)
def test_schemas_are_flat_and_every_parameter_is_described(tool: Any) -> None:  # IL-158
    schema = tool.ask.input_schema()
    for part in parts(schema):
        assert not {"anyOf", "oneOf", "allOf", "not", "$ref", "$defs", "definitions"} & part.keys(), part
        assert not isinstance(part.get("type"), list), part
        if part.get("type") == "array":
            assert part["items"]["type"] == "string"
    assert schema["type"] == "object"
    for name, parameter in schema["properties"].items():
        assert parameter.get("description"), name
        assert parameter["type"] in {"string", "number", "integer", "boolean", "array"}


def test_every_tool_has_a_description_and_all_hints() -> None:
    for tool in listed("full").tools:
        assert tool.description
        assert tool.output_schema is None
        hints = tool.annotations
        assert hints is not None
        given = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
        assert None not in given


def test_the_predecessors_parameters_and_defaults_still_hold() -> None:
    fact = StoreFact.model_validate({"content": "x"})
    assert (fact.scope, fact.target) == ("global", "memory")
    assert Recall.model_validate({"query": "x"}).top_k == 3
    assert {tool.name: tool.ask().model_dump() for tool in TOOLS if tool.name.endswith("overflow")} == {
        "memorycore_trigger_overflow": {"target": "both", "dry_run": False}
    }


def test_optional_parameters_show_no_default_that_only_means_not_given() -> None:
    properties = StoreFact.input_schema()["properties"]
    assert "default" not in properties["importance"]
    assert properties["scope"]["default"] == "global"
    assert StoreFact.input_schema()["required"] == ["content"]


@pytest.mark.parametrize("sent", ['["a", "b"]', "a, b", ["a", "b"]])
def test_a_list_is_understood_however_the_client_writes_it(sent: object) -> None:
    assert StoreFact.model_validate({"content": "x", "tags": sent}).tags == ["a", "b"]


def test_a_yes_or_no_may_be_sent_as_a_truth_value() -> None:
    assert Update.model_validate({"id": "x", "pinned": True}).pinned == "yes"


def test_instructions_are_short_and_their_start_stands_alone() -> None:
    assert len(INSTRUCTIONS) <= 512
    assert "memorycore_recall" in INSTRUCTIONS
    assert "memorycore_store_fact" in INSTRUCTIONS


def test_nothing_that_is_listed_looks_like_an_attack() -> None:
    server = a_server()
    texts = [INSTRUCTIONS, listed("full").model_dump_json()]
    texts += [prompt.model_dump_json() for prompt in anyio.run(server.list_prompts)]
    texts += [template.model_dump_json() for template in anyio.run(server.list_resource_templates)]
    for text in texts:
        assert not [word for word in SUSPICIOUS if word in text.lower()]


def test_resources_and_prompts_are_there_with_descriptions() -> None:
    server = a_server()
    templates = anyio.run(server.list_resource_templates)
    resources = anyio.run(server.list_resources)
    prompts = anyio.run(server.list_prompts)
    assert {template.uri_template for template in templates} == {"memory://hot/{target}", "memory://item/{id}"}
    assert {str(resource.uri) for resource in resources} == {"memory://status"}
    assert {prompt.name for prompt in prompts} == {"review", "tidy"}
    assert all(thing.description for thing in (*templates, *resources, *prompts))
