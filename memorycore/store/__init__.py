"""The local database: connection, migrations, named SQL, rows, ledger, jobs."""

from memorycore.store.database import Database, open_database
from memorycore.store.statements import sql

__all__ = ["Database", "open_database", "sql"]
