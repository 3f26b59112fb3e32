-- Maintenance: who runs which step and how far it has come, one table for all work that is done later, and pairs of
-- memories of which a walk over the store found out how they stand to each other.

-- One row for each step that ever ran, for a namespace or ('') for the whole store. Whoever holds `token` until
-- `lease_until` runs the step; each batch of its effects is written in a transaction that checks the token.
-- `cursor` is where a run that was cut short goes on. outcome: '' (runs, or was killed) | done | partial | failed.
CREATE TABLE step_run (
    namespace   TEXT NOT NULL,
    step        TEXT NOT NULL,
    lease_by    TEXT NOT NULL DEFAULT '',
    token       TEXT NOT NULL DEFAULT '',
    lease_until INTEGER NOT NULL DEFAULT 0,
    started_at  INTEGER,
    ended_at    INTEGER,
    outcome     TEXT NOT NULL DEFAULT '',
    cursor      TEXT NOT NULL DEFAULT '',
    result      TEXT NOT NULL DEFAULT '{}',
    next_due    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, step)
) STRICT, WITHOUT ROWID;

-- Work for later. `subject` says of what, once for each kind and namespace; `memory_seq` and `other_seq` are the
-- memories without which the work is void; `facts` is JSON without any text of a memory. Priority 1 goes first; 5 is
-- for what nobody waits for, and is not counted.
CREATE TABLE work (
    id          INTEGER PRIMARY KEY,
    kind        TEXT NOT NULL,
    namespace   TEXT NOT NULL,
    subject     TEXT NOT NULL,
    memory_seq  INTEGER REFERENCES memory (seq) ON DELETE CASCADE,
    other_seq   INTEGER REFERENCES memory (seq) ON DELETE CASCADE,
    facts       TEXT NOT NULL DEFAULT '{}',
    priority    INTEGER NOT NULL DEFAULT 3 CHECK (priority BETWEEN 1 AND 5),
    attempts    INTEGER NOT NULL DEFAULT 0,
    not_before  INTEGER NOT NULL,
    token       TEXT NOT NULL DEFAULT '',
    lease_until INTEGER NOT NULL DEFAULT 0,
    last_error  TEXT NOT NULL DEFAULT '',
    dead        INTEGER NOT NULL DEFAULT 0,
    UNIQUE (kind, namespace, subject)
) STRICT;
INSERT INTO work (kind, namespace, subject, memory_seq, priority, attempts, not_before, lease_until, last_error, dead)
SELECT kind, namespace, memory_seq, memory_seq, min(priority, 5), attempts, not_before, lease_until, last_error, dead
FROM job;
INSERT INTO work (kind, namespace, subject, memory_seq, other_seq, facts, attempts, not_before, lease_until, last_error, dead)
SELECT 'verdict', p.namespace, p.new_id || ' ' || p.old_id, n.seq, o.seq,
    json_object('new', p.new_hash, 'old', p.old_hash), p.attempts, p.not_before, p.lease_until, p.last_error, p.dead
FROM judge_pair p JOIN memory n ON n.id = p.new_id JOIN memory o ON o.id = p.old_id;
DROP TABLE judge_pair;
DROP TABLE job;
ALTER TABLE work RENAME TO job;
CREATE INDEX job_due ON job (kind, dead, priority, not_before);
CREATE INDEX job_memory ON job (memory_seq);
CREATE INDEX job_other ON job (other_seq) WHERE other_seq IS NOT NULL;

-- Memories that end by themselves, and those that were read somewhere.
CREATE INDEX memory_ends ON memory (namespace, valid_until) WHERE state = 'active' AND valid_until IS NOT NULL;
CREATE INDEX memory_read ON memory (namespace, seq) WHERE state = 'active' AND source IS NOT NULL;

-- Two active memories and how they stand to each other, as the rules said when a walk came by. The hashes are those of
-- their texts then: of other texts it says nothing. A row goes when a step has acted on it.
CREATE TABLE pair_found (
    new_seq   INTEGER NOT NULL REFERENCES memory (seq) ON DELETE CASCADE,
    old_seq   INTEGER NOT NULL REFERENCES memory (seq) ON DELETE CASCADE,
    namespace TEXT NOT NULL,
    relation  TEXT NOT NULL CHECK (relation IN ('same', 'supersedes', 'disputes')),
    new_hash  TEXT NOT NULL,
    old_hash  TEXT NOT NULL,
    evidence  TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (new_seq, old_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX pair_found_old ON pair_found (old_seq);
CREATE INDEX pair_found_relation ON pair_found (namespace, relation);
