-- Copies of cold memories at a service elsewhere, and how that service was the last time.

DROP TABLE external_id;

-- The service that is to have a copy of what is cold in a namespace. `down_since` is set while it cannot be used:
-- before `next_try` nobody asks it again. `name` is its address without a login.
CREATE TABLE remote_store (
    namespace  TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    since      INTEGER NOT NULL,
    down_since INTEGER,
    next_try   INTEGER NOT NULL DEFAULT 0,
    failures   INTEGER NOT NULL DEFAULT 0,
    why        TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

-- The ids that a service gave to memories of ours. A row outlives its memory until the service has forgotten the copy.
-- `sent` is the SHA-256 of the text that it was given; empty when that is not known any more.
CREATE TABLE remote_copy (
    store     TEXT NOT NULL,
    external  TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    sent      TEXT NOT NULL DEFAULT '',
    at        INTEGER NOT NULL,
    PRIMARY KEY (store, external, memory_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX remote_copy_memory ON remote_copy (memory_id);
