"""The local database: connection, migrations, named SQL, rows, ledger, jobs."""

from memorycore.store.database import Database, give_way, open_database
from memorycore.store.statements import all_rows, first_row, only_row, sql

__all__ = ["Database", "all_rows", "first_row", "give_way", "only_row", "open_database", "sql"]
