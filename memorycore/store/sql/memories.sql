-- Statements on memories, their references, revisions and uses.
-- A statement that reads or writes the table memory names the namespace, or says why it need not.

-- name: next_change
UPDATE counter SET value = value + 1 WHERE name = 'change' RETURNING value;

-- name: newest_change
SELECT value FROM counter WHERE name = 'change';

-- name: insert_memory
INSERT INTO memory (
    id, namespace, content, norm_hash, kind, policy, state, residence, hot_tier, target, entry_hash, pinned, protected,
    importance, importance_given, confidence, surprise, valid_from, valid_until, created_at, updated_at, occurred_at,
    last_used_at, use_count, tags, source, author, authority, session_id, scope, origin, trashed_at, trash_reason,
    flags, version, change_seq
) VALUES (
    :id, :namespace, :content, :norm_hash, :kind, :policy, :state, :residence, :hot_tier, :target, :entry_hash, :pinned, :protected,
    :importance, :importance_given, :confidence, :surprise, :valid_from, :valid_until, :created_at, :updated_at, :occurred_at,
    :last_used_at, :use_count, :tags, :source, :author, :authority, :session_id, :scope, :origin, :trashed_at, :trash_reason,
    :flags, :version, :change_seq
) RETURNING seq;

-- name: update_memory
UPDATE memory SET
    content = :content, norm_hash = :norm_hash, kind = :kind, policy = :policy, state = :state, residence = :residence,
    hot_tier = :hot_tier, target = :target, entry_hash = :entry_hash, pinned = :pinned, protected = :protected, importance = :importance,
    importance_given = :importance_given, confidence = :confidence, surprise = :surprise, valid_from = :valid_from,
    valid_until = :valid_until, created_at = :created_at, updated_at = :updated_at, occurred_at = :occurred_at,
    last_used_at = :last_used_at, use_count = :use_count, tags = :tags, source = :source, author = :author,
    authority = :authority, session_id = :session_id, scope = :scope, origin = :origin, trashed_at = :trashed_at,
    trash_reason = :trash_reason, flags = :flags, version = :version, change_seq = :change_seq
WHERE seq = :seq AND namespace = :namespace AND id = :id;

-- name: touch_memory (all namespaces: the row is named by its number, which came from a filtered query)
UPDATE memory SET change_seq = :change_seq WHERE seq = :seq;

-- name: memory_by_id
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.id = :id AND m.namespace IN (SELECT value FROM json_each(:namespaces));

-- name: ids_ending
-- By the whole table: only for ids that nobody has as a whole, as people and models give them.
SELECT id FROM memory
WHERE substr(id, -length(:tail)) = :tail AND namespace IN (SELECT value FROM json_each(:namespaces))
ORDER BY id LIMIT 5;

-- name: id_taken (all namespaces: ids are unique in the whole store)
SELECT 1 FROM memory WHERE id = :id;

-- name: memories_by_seq
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.seq IN (SELECT value FROM json_each(:seqs)) AND m.namespace IN (SELECT value FROM json_each(:namespaces));

-- name: active_by_norm_hash
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.namespace = :namespace AND m.norm_hash = :norm_hash AND m.state = 'active'
  AND m.scope = :scope AND (m.scope = 'global' OR m.session_id = :session_id)
ORDER BY m.residence = 'hot' DESC, m.seq
LIMIT 1;

-- name: memories_by_ref
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.namespace = :namespace AND m.state IN ('active', 'superseded')
  AND m.seq IN (SELECT memory_seq FROM memory_ref WHERE ref = :ref)
ORDER BY m.seq;

-- name: all_active_by_norm_hash
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.namespace IN (SELECT value FROM json_each(:namespaces)) AND m.norm_hash = :norm_hash AND m.state = 'active'
  AND m.scope = 'global'
ORDER BY m.residence = 'hot' DESC, m.seq;

-- name: binned_by_norm_hash
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.namespace = :namespace AND m.norm_hash = :norm_hash AND m.state = 'trashed'
ORDER BY m.trashed_at DESC
LIMIT 1;

-- name: file_memories
-- Memories that have an entry in a hot file: their text, or a pointer.
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.namespace = :namespace AND m.hot_tier = :hot_tier AND m.residence <> 'cold' AND m.state = 'active'
ORDER BY m.seq;

-- name: other_hot_memory
SELECT 1 FROM memory
WHERE namespace = :namespace AND hot_tier = :hot_tier AND entry_hash = :entry_hash AND residence <> 'cold'
  AND state = 'active' AND id <> :id;

-- name: binned_memories
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.namespace IN (SELECT value FROM json_each(:namespaces)) AND m.state <> 'active' AND m.state = 'trashed'
ORDER BY m.trashed_at DESC, m.seq DESC;

-- name: memories_after
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.seq > :seq AND m.namespace IN (SELECT value FROM json_each(:namespaces)) AND m.state <> 'purged'
ORDER BY m.seq
LIMIT :limit;

-- name: count_active
SELECT count(*) FROM memory WHERE namespace = :namespace AND state = 'active';

-- name: count_memories
SELECT
    count(*) FILTER (WHERE state = 'active' AND residence = 'hot'),
    count(*) FILTER (WHERE state = 'active' AND residence <> 'hot'),
    count(*) FILTER (WHERE state = 'trashed'),
    count(*) FILTER (WHERE state = 'trashed' AND trashed_at < :purge_before)
FROM memory
WHERE namespace IN (SELECT value FROM json_each(:namespaces));

-- name: insert_ref
INSERT OR IGNORE INTO memory_ref (memory_seq, ref) VALUES (:seq, :ref) RETURNING ref;

-- name: insert_revision
INSERT OR IGNORE INTO revision (memory_seq, version, content, written_at, replaced_at)
VALUES (:seq, :version, :content, :written_at, :replaced_at);

-- name: revisions
SELECT version, content, written_at, replaced_at FROM revision WHERE memory_seq = :seq ORDER BY version;

-- name: insert_uses (all namespaces: the rows were answers of a filtered search)
INSERT INTO memory_use (memory_seq, used_at, place)
SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(:uses) WHERE value ->> 0 IN (SELECT seq FROM memory);

-- name: insert_text
INSERT INTO memory_text (rowid, tokens) VALUES (:seq, :tokens);

-- name: delete_text
DELETE FROM memory_text WHERE rowid = :seq;

-- name: insert_archive_text
INSERT INTO archive_text (rowid, tokens) VALUES (:seq, :tokens);

-- name: delete_archive_text
DELETE FROM archive_text WHERE rowid = :seq;

-- name: insert_event
INSERT INTO event (namespace, at, action, memory_id, actor, reason, facts, run, automatic, change)
VALUES (:namespace, :at, :action, :memory_id, :actor, :reason, :facts, :run, :automatic, :change) RETURNING seq;

-- name: events_of_memory
SELECT seq, at, action, memory_id, actor, reason, facts, run, automatic, change, undone_by FROM event
WHERE memory_id = :memory_id AND namespace IN (SELECT value FROM json_each(:namespaces)) ORDER BY seq;
