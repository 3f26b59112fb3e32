-- Statements that erase a memory and every copy of its text, and those that look for what is left of it.

-- name: copies_of
-- Other rows with one of these texts that nobody uses any more: in the bin, superseded, expired.
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.norm_hash IN (SELECT value FROM json_each(:hashes)) AND m.state NOT IN ('active', 'purged')
  AND m.namespace IN (SELECT value FROM json_each(:namespaces))
ORDER BY m.seq;

-- name: memories_holding (all namespaces: those of others are counted, never shown)
SELECT id, namespace, state, entry_hash FROM memory
WHERE seq NOT IN (SELECT value FROM json_each(:seqs)) AND state <> 'purged'
  AND (norm_hash = :norm_hash OR (:telling AND instr(content, :text) > 0));

-- name: is_in_a_memory (all namespaces: only the fact leaves)
SELECT 1 FROM memory WHERE instr(content, :text) > 0
UNION ALL
SELECT 1 FROM revision WHERE instr(content, :text) > 0
LIMIT 1;

-- name: is_a_vector
SELECT 1 FROM embedding WHERE vector = :vector LIMIT 1;

-- name: tokens_in_index
SELECT 1 FROM memory_text WHERE instr(tokens, :tokens) > 0 LIMIT 1;

-- name: tokens_in_archive
SELECT 1 FROM archive_text WHERE instr(tokens, :tokens) > 0 LIMIT 1;

-- name: intents_of
SELECT old_text, new_text FROM hot_intent WHERE memory_id = :memory_id AND namespace = :namespace;

-- name: pointer_elsewhere (all namespaces: only the fact leaves)
SELECT 1 FROM hot_standing WHERE pointer = :pointer AND memory_seq <> :seq
UNION ALL
SELECT 1 FROM event WHERE memory_id <> :memory_id AND instr(facts, :pointer) > 0
LIMIT 1;

-- name: vectors_of
SELECT vector FROM embedding WHERE memory_seq IN (SELECT value FROM json_each(:seqs));

-- name: count_kept_of
SELECT
    (SELECT count(*) FROM revision WHERE memory_seq IN (SELECT value FROM json_each(:seqs))),
    (SELECT count(*) FROM embedding WHERE memory_seq IN (SELECT value FROM json_each(:seqs))),
    (SELECT count(*) FROM event WHERE memory_id IN (SELECT value FROM json_each(:ids))),
    (SELECT count(*) FROM edge
     WHERE src IN (SELECT value FROM json_each(:ids)) OR dst IN (SELECT value FROM json_each(:ids)));

-- name: revisions_holding
SELECT r.memory_seq, r.version, r.content FROM revision r JOIN memory m ON m.seq = r.memory_seq
WHERE instr(r.content, :text) > 0 AND m.namespace IN (SELECT value FROM json_each(:namespaces))
  AND m.id NOT IN (SELECT value FROM json_each(:spared));

-- name: reword_revision
UPDATE revision SET content = :content WHERE memory_seq = :seq AND version = :version;

-- name: events_holding
SELECT seq, facts, change FROM event
WHERE (instr(facts, :text) > 0 OR instr(change, :text) > 0)
  AND namespace IN (SELECT value FROM json_each(:namespaces))
  AND memory_id NOT IN (SELECT value FROM json_each(:spared));

-- name: events_naming
SELECT seq, facts, change FROM event
WHERE instr(facts, :memory_id) > 0 AND namespace IN (SELECT value FROM json_each(:namespaces))
  AND memory_id NOT IN (SELECT value FROM json_each(:own));

-- name: blank_event
UPDATE event SET facts = :facts, change = :change WHERE seq = :seq;

-- name: blank_evidence
UPDATE edge SET evidence = '[]'
WHERE instr(evidence, :text) > 0 AND namespace IN (SELECT value FROM json_each(:namespaces));

-- name: delete_events_of
DELETE FROM event WHERE memory_id = :memory_id AND seq <> :kept;

-- name: delete_edges_of
DELETE FROM edge WHERE src = :memory_id OR dst = :memory_id;

-- name: delete_hands_off_of
DELETE FROM hands_off WHERE memory_id = :memory_id;

-- name: delete_intents_of
DELETE FROM hot_intent WHERE memory_id = :memory_id;

-- name: delete_memory (all namespaces: the row is named by its number; what refers to it goes with it)
DELETE FROM memory WHERE seq = :seq;

-- name: keep_id
-- What stays of an erased memory: that this id was given and is gone. Followers of the change feed learn it from here.
INSERT INTO memory (
    seq, id, namespace, content, norm_hash, kind, policy, state, residence, target, entry_hash, importance, confidence,
    created_at, updated_at, origin, change_seq
) VALUES (
    :seq, :id, :namespace, '', '', 'fact', 'episode', 'purged', 'cold', 'memory', '', 0, 0, :at, :at, '', :change_seq
);

-- name: rebuild_archive_text
INSERT INTO archive_text (archive_text) VALUES ('rebuild');

-- name: table_names
SELECT name FROM sqlite_schema WHERE type = 'table';

-- name: seqs_to_erase
-- In a copy of the database. What is active there may be in the bin or gone by now.
SELECT seq, id FROM memory
WHERE id IN (SELECT value FROM json_each(:ids))
   OR (norm_hash IN (SELECT value FROM json_each(:hashes)) AND id NOT IN (SELECT value FROM json_each(:spared))
       AND namespace IN (SELECT value FROM json_each(:namespaces)));

-- name: blank_vector_index
-- The table of sqlite-vec where the extension does not load: its vectors become zeros, and it is made anew later.
UPDATE memory_vector_vector_chunks00 SET vectors = zeroblob(length(vectors));

-- name: note_clearing
INSERT INTO counter (name, value) VALUES ('clearing', :what) ON CONFLICT (name) DO UPDATE SET value = max(value, :what);

-- name: clearing_due
SELECT value FROM counter WHERE name = 'clearing';

-- name: clearing_done
DELETE FROM counter WHERE name = 'clearing';

-- name: due_for_purge
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.namespace IN (SELECT value FROM json_each(:namespaces)) AND m.state <> 'active' AND m.state = 'trashed' AND m.trashed_at < :before
ORDER BY m.seq
LIMIT :limit;

-- name: count_due_for_purge
SELECT count(*) FROM memory
WHERE namespace IN (SELECT value FROM json_each(:namespaces)) AND state <> 'active' AND state = 'trashed' AND trashed_at < :before;
