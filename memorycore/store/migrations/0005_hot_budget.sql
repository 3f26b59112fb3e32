-- The hot budget: how much a hot entry is worth, what was asked lately, and who is at work.

-- One row for each memory that is in a hot file or left one. The weight was `weight` at `weighed_at`, the last strong
-- touch, and halves from there. `pointer` is the text that stands in the file for a memory that is a stub, or stood
-- there until it was folded. `compared` is the norm hash of the wording that overflow last compared with the others.
CREATE TABLE hot_standing (
    memory_seq     INTEGER PRIMARY KEY REFERENCES memory (seq) ON DELETE CASCADE,
    namespace      TEXT NOT NULL,
    weight         REAL NOT NULL DEFAULT 1.0,
    weighed_at     INTEGER NOT NULL,
    touched_at     INTEGER NOT NULL,
    resident_until INTEGER NOT NULL,
    pointer        TEXT NOT NULL DEFAULT '',
    retired_at     INTEGER,
    restored_at    INTEGER,
    compared       TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX hot_standing_retired ON hot_standing (namespace, retired_at) WHERE retired_at IS NOT NULL;

-- What was asked, gated. Ids only grow, so that a scan knows what it has read.
CREATE TABLE query_log (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace  TEXT NOT NULL,
    at         INTEGER NOT NULL,
    query      TEXT NOT NULL,
    source     TEXT NOT NULL,
    session_id TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX query_log_namespace ON query_log (namespace, id);
CREATE INDEX query_log_at ON query_log (at);

-- Which of the answers it was, the first one 1; twice that for one that was hardly meant.
ALTER TABLE memory_use ADD COLUMN place INTEGER NOT NULL DEFAULT 1;

-- How far a named piece of work has come, for one namespace.
CREATE TABLE progress (
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    value     TEXT NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;

-- Sessions whose prompt holds the hot files as they were. One that ended has no row.
CREATE TABLE host_session (
    namespace  TEXT NOT NULL,
    session_id TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    PRIMARY KEY (namespace, session_id)
) STRICT, WITHOUT ROWID;

-- A pointer is an entry of the file too: two rows for one entry would be two answers to what it is.
DROP INDEX memory_hot_text;
CREATE UNIQUE INDEX memory_hot_text ON memory (hot_tier, entry_hash) WHERE residence <> 'cold' AND state = 'active';
