-- Two memories whose relation the rules left open, until a language model was asked. The hashes are those of the texts
-- as they were when the pair came in: a pair of texts that nobody remembers any more is not asked about.
CREATE TABLE judge_pair (
    id          INTEGER PRIMARY KEY,
    namespace   TEXT NOT NULL,
    new_id      TEXT NOT NULL REFERENCES memory (id) ON DELETE CASCADE,
    old_id      TEXT NOT NULL REFERENCES memory (id) ON DELETE CASCADE,
    new_hash    TEXT NOT NULL,
    old_hash    TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    attempts    INTEGER NOT NULL DEFAULT 0,
    not_before  INTEGER NOT NULL,
    lease_until INTEGER NOT NULL DEFAULT 0,
    last_error  TEXT NOT NULL DEFAULT '',
    dead        INTEGER NOT NULL DEFAULT 0,
    UNIQUE (new_id, old_id)
) STRICT;
CREATE INDEX judge_pair_old ON judge_pair (old_id);
CREATE INDEX judge_pair_due ON judge_pair (namespace, dead, not_before);
