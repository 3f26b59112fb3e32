"""Measurements of the product itself. Each prints a table, and one JSON object with ``--json``."""
