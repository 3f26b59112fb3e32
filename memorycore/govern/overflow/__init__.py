"""Overflow: what leaves the hot files when room is needed. It is planned without touching anything, then done."""
