-- Governance: what a memory is warned of, how memories stand to each other, what somebody wanted gone, and a ledger
-- from which a change can be taken back.

ALTER TABLE memory ADD COLUMN flags TEXT NOT NULL DEFAULT '[]';

CREATE INDEX memory_active ON memory (namespace) WHERE state = 'active';

-- `change` is {column: [before, after]}; what one call or one run did has one `run`.
ALTER TABLE event ADD COLUMN run TEXT NOT NULL DEFAULT '';
ALTER TABLE event ADD COLUMN automatic INTEGER NOT NULL DEFAULT 0;
ALTER TABLE event ADD COLUMN change TEXT NOT NULL DEFAULT '{}';
ALTER TABLE event ADD COLUMN undone_by INTEGER;
CREATE INDEX event_run ON event (run) WHERE run <> '';

-- How one memory (src, the newer) stands to another (dst), by their ids. A proposed edge waits for a person.
CREATE TABLE edge (
    id         INTEGER PRIMARY KEY,
    namespace  TEXT NOT NULL,
    src        TEXT NOT NULL,
    dst        TEXT NOT NULL,
    relation   TEXT NOT NULL CHECK (relation IN ('supersedes', 'refines', 'contradicts', 'exception_to')),
    status     TEXT NOT NULL CHECK (status IN ('open', 'proposed', 'applied', 'settled', 'rejected')),
    origin     TEXT NOT NULL,
    evidence   TEXT NOT NULL DEFAULT '[]',
    created_at INTEGER NOT NULL,
    settled_at INTEGER,
    settled_by TEXT NOT NULL DEFAULT '',
    UNIQUE (src, dst, relation)
) STRICT;
CREATE INDEX edge_dst ON edge (dst);
CREATE INDEX edge_waiting ON edge (namespace, id) WHERE status IN ('open', 'proposed');

-- Texts, by the hash of their compared form, that a person wanted gone: automation does not bring them back.
CREATE TABLE tombstone (
    namespace TEXT NOT NULL,
    norm_hash TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    reason    TEXT NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (namespace, norm_hash)
) STRICT, WITHOUT ROWID;

-- Automatic changes that were undone: not again on the same memory for the same text until then.
CREATE TABLE hands_off (
    namespace TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    norm_hash TEXT NOT NULL,
    until     INTEGER NOT NULL,
    PRIMARY KEY (namespace, memory_id, norm_hash)
) STRICT, WITHOUT ROWID;

-- Search tokens of what is superseded or in the bin: the index of words that normal recall never reads.
CREATE VIRTUAL TABLE archive_text USING fts5 (tokens, tokenize = 'porter unicode61 remove_diacritics 2');
INSERT INTO archive_text (archive_text, rank) VALUES ('secure-delete', 1);
