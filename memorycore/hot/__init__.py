"""The two files of the hot tier: MEMORY.md and USER.md."""
