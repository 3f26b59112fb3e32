"""What each tool may be asked: the schemas that clients see and the check of what they send.

Schemas stay flat (no unions, no references, ``items`` always given), because one tool with a nullable type spoils a
whole session in some clients. So an optional parameter has a neutral value instead of null: empty text, -1, an empty
list. A client that sends null, or a list or a number as text, is understood nevertheless; a number where a text belongs
is refused, since nobody can say what it was meant to read.
"""

import json
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationInfo,
    field_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import no_info_after_validator_function

from memorycore.domain.memory import KINDS, POLICIES, SCOPES, TARGETS

LEAST_BYTES = 512
DEFAULT_RECALL_BYTES = 4096
DEFAULT_REPORT_BYTES = 8192
MOST_BYTES = 1_000_000
MOST_RESULTS = 50
NOT_GIVEN = -1.0
NO_EVENT = -1
UNKNOWN_WORD = "unknown_word"


def _as_list(value: object) -> object:
    """Some clients send a list as JSON text or as words with commas between them."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            return value
    return [part.strip() for part in text.split(",") if part.strip()]


def _as_yes_or_no(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value


@dataclass(frozen=True, slots=True)
class OneOf:
    """Text that is empty or one of these words; another one is refused, and the words that are known are named."""

    words: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), "enum": list(self.words)}

    def _checked(self, value: str) -> str:
        word = value.strip().lower()
        if word and word not in self.words:
            raise PydanticCustomError(UNKNOWN_WORD, "unknown value", {"allowed": ", ".join(self.words)})
        return word


Words = Annotated[list[str], BeforeValidator(_as_list)]
Included = Annotated[list[Annotated[str, OneOf(("superseded",))]], BeforeValidator(_as_list)]
KindWord = Annotated[str, OneOf(KINDS)]
PolicyWord = Annotated[str, OneOf(POLICIES)]
ScopeWord = Annotated[str, OneOf(SCOPES)]
TierWord = Annotated[str, OneOf(("hot", "cold"))]
TargetWord = Annotated[str, OneOf(TARGETS)]
KeepWord = Annotated[str, OneOf(("old", "new", "both"))]
BothWord = Annotated[str, OneOf((*TARGETS, "both"))]
ReasonWord = Annotated[str, OneOf(("end", "compression"))]
YesNoWord = Annotated[str, OneOf(("yes", "no")), BeforeValidator(_as_yes_or_no)]
MaxBytes = Annotated[int, Field(description=f"Most bytes of the answer, {LEAST_BYTES} at least")]
DryRun = Annotated[bool, Field(description="Only say what would happen")]


class Ask(BaseModel):
    """Arguments of one tool. Unknown ones are named in the answer, never used."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    neutral: ClassVar[tuple[object, ...]] = ("", -1, -1.0, [], False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_as_number(cls, value: object, field: ValidationInfo) -> object:
        """Python takes True for 1."""
        wanted: Any = cls.model_fields[field.field_name or ""].annotation
        if isinstance(value, bool) and wanted in {int, float}:
            raise PydanticCustomError("float_type", "not a number")
        return value

    @classmethod
    def input_schema(cls) -> dict[str, Any]:
        """The JSON schema without titles and without defaults that only mean "not given"."""
        full = cls.model_json_schema()
        properties: dict[str, Any] = {}
        for name, found in cast("dict[str, dict[str, Any]]", full.get("properties", {})).items():
            kept = {key: value for key, value in found.items() if key != "title"}
            if kept.get("default") in cls.neutral:
                kept.pop("default", None)
            properties[name] = kept
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if "required" in full:
            schema["required"] = full["required"]
        return schema


class StoreFact(Ask):
    content: str = Field(description="One self-contained statement with its names, numbers and dates")
    importance: float = Field(-1.0, description="0 to 1; left out: estimated")
    scope: ScopeWord = Field("global", description="session: for this session only")
    target: TargetWord = Field("memory", description="user: about the user; memory: everything else")
    kind: KindWord = Field("", description="Left out: recognised")
    policy: PolicyWord = Field("", description="How long it lives; left out: from kind")
    tags: Words = Field([], description="Words to find it by")
    valid_from: str = Field("", description="ISO date or time from which it holds")
    valid_until: str = Field("", description="ISO date or time until which it holds")
    occurred_at: str = Field("", description="ISO date or time of the event")
    session_id: str = Field("", description="Left out: this connection")
    author: str = Field("", description="Who said it; left out: this client")
    source: str = Field("", description="File or URL it comes from")
    dry_run: DryRun = False


class Recall(Ask):
    query: str = Field(description="What to look for, in any language")
    top_k: int = Field(3, description="Number of results, 1 to 50")
    kind: KindWord = Field("", description="Only this kind")
    policy: PolicyWord = Field("", description="Only this policy")
    tags: Words = Field([], description="Only with all of these tags")
    since: str = Field("", description="Only from this ISO date on")
    until: str = Field("", description="Only up to this ISO date")
    tier: TierWord = Field("", description="hot: in the prompt files; cold: the rest")
    target: TargetWord = Field("", description="Only this target")
    session_id: str = Field("", description="Only of this session")
    author: str = Field("", description="Only by this author")
    as_of: str = Field("", description="What held at this ISO date or time")
    include: Included = Field([], description="superseded: what no longer holds too")
    explain: bool = Field(default=False, description="Add why each result was found")
    max_bytes: MaxBytes = DEFAULT_RECALL_BYTES


class Audit(Ask):
    target: BothWord = Field("both", description="Which prompt file")
    max_bytes: MaxBytes = DEFAULT_REPORT_BYTES


class Usage(Ask):
    """No arguments."""


class Overflow(Ask):
    target: BothWord = Field("both", description="Which prompt file")
    dry_run: DryRun = False


class Maintain(Ask):
    steps: Words = Field([], description="Only these steps; left out: all")
    dry_run: DryRun = False


class Update(Ask):
    id: str = Field(description="Id of the memory, or its whole text")
    content: str = Field("", description="The whole new text, never a part; the old one stays in its history")
    importance: float = Field(-1.0, description="0 to 1")
    kind: KindWord = Field("", description="New kind")
    tags: Words = Field([], description="New tags, in place of the old ones")
    pinned: YesNoWord = Field("", description="yes: never moved or changed by itself")
    policy: PolicyWord = Field("", description="New policy")
    valid_until: str = Field("", description="ISO date or time until which it holds")
    dry_run: DryRun = False


class Forget(Ask):
    id: str = Field("", description="Id of the memory")
    query: str = Field("", description="Instead of an id: its whole text; other words only find candidates")
    erase: bool = Field(default=False, description="For good, every copy, no way back; when the user asks for that")
    dry_run: DryRun = False


class Restore(Ask):
    id: str = Field(description="Id of a forgotten memory")


class Inspect(Ask):
    id: str = Field(description="Id of the memory")
    max_bytes: MaxBytes = DEFAULT_REPORT_BYTES


class Undo(Ask):
    event: int = Field(NO_EVENT, description="Number of the event")
    last: bool = Field(default=False, description="Instead: the last automatic change, or else the last change")
    run: str = Field("", description="Instead: all that one call did; its id stands in answers as run")
    since: str = Field("", description="Instead: all that was automatic from then on, such as 1h, 2d or an ISO date")
    dry_run: DryRun = False
    max_bytes: MaxBytes = DEFAULT_REPORT_BYTES


class Review(Ask):
    number: str = Field("", description="Which one, such as d12; left out: the list")
    keep: KeepWord = Field("", description="Of two texts, what the user wants to keep")
    accept: YesNoWord = Field("", description="Of a text alone; yes: let it in as data, or leave the entry; no: bin")
    dry_run: DryRun = False
    max_bytes: MaxBytes = DEFAULT_REPORT_BYTES
