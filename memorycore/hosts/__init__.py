"""The programs that use MemoryCore: where they keep their files and how they are told about it."""
