"""Memories on their way out and in: exported lines, and what the predecessor or a host has left in files."""

from memorycore.transfer.lines import MARK, from_line, to_line

__all__ = ["MARK", "from_line", "to_line"]
