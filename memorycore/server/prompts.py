"""Two prompts that a person can pick in the client: look through what is remembered, and tidy it."""

from mcp.server.mcpserver import MCPServer

from memorycore.server.desk import Place

REVIEW = (
    "Go through what is remembered with me. Call memorycore_memory_audit and memorycore_get_memory_usage. Show me the "
    "entries in groups: rules and preferences, facts about me, notes. Point out what looks outdated, doubtful or "
    "contradictory, and ask me about each. Correct with memorycore_update, remove with memorycore_forget, and "
    "only what I have agreed to. At the end tell me in one line each what changed and how to take it back "
    "(memorycore_restore)."
)
TIDY = (
    "Tidy the memory. Call memorycore_get_memory_usage first. Then call memorycore_trigger_overflow and "
    "memorycore_run_cold_storage_maintenance with dry_run true, and tell me in plain words what would move and why. "
    "When I agree, call both again without dry_run and report what happened and how full the prompt files are now."
)


def add(server: MCPServer[Place]) -> None:
    """Register both with the server."""

    @server.prompt(name="review", description="Look through what is remembered and correct it together.")
    def review() -> str:
        return REVIEW

    @server.prompt(name="tidy", description="Make room and tidy the store, after showing what would change.")
    def tidy() -> str:
        return TIDY

    del review, tidy  # registered by the decorator
