-- Statements on the database of the predecessor: another program's file, of which nothing is ours and nothing is changed.
-- Whole rows, since every version of it has other columns; what is not known is not looked at.

-- name: predecessor_tables
SELECT name FROM sqlite_schema WHERE type = 'table';

-- name: predecessor_working
SELECT rowid FROM working_memory ORDER BY rowid;

-- name: predecessor_working_row
SELECT * FROM working_memory WHERE rowid = :number;

-- name: predecessor_episodic
SELECT rowid FROM episodic_memory ORDER BY rowid;

-- name: predecessor_episodic_row
SELECT * FROM episodic_memory WHERE rowid = :number;

-- name: predecessor_memories
SELECT rowid FROM memories ORDER BY rowid;

-- name: predecessor_memories_row
SELECT * FROM memories WHERE rowid = :number;
