-- The ground: memories and their history, the two hot files, vectors, uses, jobs.
-- Times are integer milliseconds UTC; lists are JSON text; a namespace stands on every row that holds or leads to text.

CREATE TABLE counter (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counter (name, value) VALUES ('change', 0);

CREATE TABLE hot_tier (
    id            INTEGER PRIMARY KEY,
    namespace     TEXT NOT NULL,
    directory     TEXT NOT NULL,
    target        TEXT NOT NULL CHECK (target IN ('memory', 'user')),
    first_seen_at INTEGER NOT NULL,
    file_sha      TEXT NOT NULL DEFAULT '',
    UNIQUE (directory, target, namespace)
) STRICT;

CREATE TABLE memory (
    seq              INTEGER PRIMARY KEY,
    id               TEXT NOT NULL UNIQUE,
    namespace        TEXT NOT NULL,
    content          TEXT NOT NULL,
    norm_hash        TEXT NOT NULL,
    kind             TEXT NOT NULL,
    policy           TEXT NOT NULL CHECK (policy IN ('core', 'rule', 'fact', 'episode')),
    state            TEXT NOT NULL CHECK (state IN ('active', 'superseded', 'expired', 'trashed', 'purged')),
    residence        TEXT NOT NULL CHECK (residence IN ('hot', 'stub', 'cold')),
    hot_tier         INTEGER REFERENCES hot_tier (id),
    target           TEXT NOT NULL CHECK (target IN ('memory', 'user')),
    entry_hash       TEXT NOT NULL,
    pinned           INTEGER NOT NULL DEFAULT 0,
    protected        TEXT NOT NULL DEFAULT '[]',
    importance       REAL NOT NULL,
    importance_given INTEGER NOT NULL DEFAULT 0,
    confidence       REAL NOT NULL,
    surprise         REAL NOT NULL DEFAULT 0,
    valid_from       INTEGER,
    valid_until      INTEGER,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    occurred_at      INTEGER,
    last_used_at     INTEGER,
    use_count        INTEGER NOT NULL DEFAULT 0,
    tags             TEXT NOT NULL DEFAULT '[]',
    source           TEXT,
    author           TEXT NOT NULL DEFAULT '',
    authority        INTEGER NOT NULL DEFAULT 0,
    session_id       TEXT NOT NULL DEFAULT '',
    scope            TEXT NOT NULL DEFAULT 'global' CHECK (scope IN ('global', 'session')),
    origin           TEXT NOT NULL,
    trashed_at       INTEGER,
    trash_reason     TEXT NOT NULL DEFAULT '',
    version          INTEGER NOT NULL DEFAULT 1,
    change_seq       INTEGER NOT NULL
) STRICT;
-- The file decides which texts are hot; two rows for one entry of one file would be two answers to that.
CREATE UNIQUE INDEX memory_hot_text ON memory (hot_tier, entry_hash) WHERE residence = 'hot' AND state = 'active';
CREATE INDEX memory_norm ON memory (namespace, norm_hash);
CREATE INDEX memory_change ON memory (change_seq);
CREATE INDEX memory_session ON memory (namespace, session_id, seq) WHERE session_id <> '';
CREATE INDEX memory_not_active ON memory (namespace, state, trashed_at) WHERE state <> 'active';

CREATE TABLE memory_ref (
    memory_seq INTEGER NOT NULL REFERENCES memory (seq) ON DELETE CASCADE,
    ref        TEXT NOT NULL,
    PRIMARY KEY (memory_seq, ref)
) STRICT, WITHOUT ROWID;

-- Ids that another store gave to a memory of ours.
CREATE TABLE external_id (
    store      TEXT NOT NULL,
    external   TEXT NOT NULL,
    memory_seq INTEGER NOT NULL REFERENCES memory (seq) ON DELETE CASCADE,
    PRIMARY KEY (store, external)
) STRICT, WITHOUT ROWID;

-- Every earlier text of a memory.
CREATE TABLE revision (
    memory_seq INTEGER NOT NULL REFERENCES memory (seq) ON DELETE CASCADE,
    version    INTEGER NOT NULL,
    content    TEXT NOT NULL,
    written_at INTEGER NOT NULL,
    replaced_at INTEGER NOT NULL,
    PRIMARY KEY (memory_seq, version)
) STRICT, WITHOUT ROWID;

-- The ledger.
CREATE TABLE event (
    seq       INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    at        INTEGER NOT NULL,
    action    TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    actor     TEXT NOT NULL,
    reason    TEXT NOT NULL DEFAULT '',
    facts     TEXT NOT NULL DEFAULT '{}'
) STRICT;
CREATE INDEX event_memory ON event (memory_id, seq);
CREATE INDEX event_held_back ON event (memory_id) WHERE action = 'held_back';

-- A change to a hot file that is under way. It is written before the file and closed after it, so that whoever
-- finds it open can tell an unfinished change of ours from somebody's edit.
CREATE TABLE hot_intent (
    id         INTEGER PRIMARY KEY,
    namespace  TEXT NOT NULL,
    hot_tier   INTEGER NOT NULL REFERENCES hot_tier (id),
    memory_id  TEXT NOT NULL,
    old_text   TEXT,
    new_text   TEXT,
    plan       TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    owner      TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE memory_text USING fts5 (tokens, tokenize = 'porter unicode61 remove_diacritics 2');
INSERT INTO memory_text (memory_text, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE memory_vocab USING fts5vocab (memory_text, 'row');

CREATE TABLE fingerprint (
    id    INTEGER PRIMARY KEY,
    name  TEXT NOT NULL UNIQUE,
    width INTEGER NOT NULL
) STRICT;

-- Unit vectors, float32 little-endian, as the model gave them. `indexed` says that the vec0 table has the row.
CREATE TABLE embedding (
    id             INTEGER PRIMARY KEY,
    memory_seq     INTEGER NOT NULL REFERENCES memory (seq) ON DELETE CASCADE,
    part           INTEGER NOT NULL,
    fingerprint_id INTEGER NOT NULL REFERENCES fingerprint (id),
    text_hash      TEXT NOT NULL,
    vector         BLOB NOT NULL,
    indexed        INTEGER NOT NULL DEFAULT 0,
    UNIQUE (memory_seq, fingerprint_id, part)
) STRICT;
CREATE INDEX embedding_text ON embedding (text_hash, fingerprint_id);
CREATE INDEX embedding_tail ON embedding (fingerprint_id) WHERE indexed = 0;

-- Uses of the recent past; a job folds them into the memory.
CREATE TABLE memory_use (
    memory_seq INTEGER NOT NULL REFERENCES memory (seq) ON DELETE CASCADE,
    used_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX memory_use_memory ON memory_use (memory_seq, used_at);

CREATE TABLE job (
    id         INTEGER PRIMARY KEY,
    kind       TEXT NOT NULL,
    namespace  TEXT NOT NULL,
    memory_seq INTEGER NOT NULL REFERENCES memory (seq) ON DELETE CASCADE,
    priority   INTEGER NOT NULL DEFAULT 3,
    attempts   INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL,
    lease_until INTEGER NOT NULL DEFAULT 0,
    last_error TEXT NOT NULL DEFAULT '',
    dead       INTEGER NOT NULL DEFAULT 0,
    UNIQUE (kind, memory_seq)
) STRICT;
CREATE INDEX job_due ON job (kind, dead, not_before);
