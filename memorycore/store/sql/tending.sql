-- Statements with which maintenance finds what it has to look at, some at a time.

-- name: ended_memories
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.namespace = :namespace AND m.state = 'active' AND m.valid_until IS NOT NULL AND m.valid_until <= :now
ORDER BY m.valid_until, m.seq LIMIT :limit;

-- name: count_ended
SELECT count(*) FROM memory
WHERE namespace = :namespace AND state = 'active' AND valid_until IS NOT NULL AND valid_until <= :now;

-- name: was_to_be_replaced
SELECT 1 FROM edge
WHERE dst = :id AND relation IN ('supersedes', 'refines') AND status = 'applied' AND namespace = :namespace;

-- name: unused_memories
-- `updated_at` moves with every change, so that what was told lately is not even read.
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.namespace = :namespace AND m.state = 'active' AND m.residence = 'cold' AND m.seq > :after
  AND m.policy IN ('fact', 'episode') AND m.updated_at < :before
ORDER BY m.seq LIMIT :limit;

-- name: read_memories
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.namespace = :namespace AND m.state = 'active' AND m.source IS NOT NULL AND m.seq > :after
ORDER BY m.seq LIMIT :limit;

-- name: equal_memories
-- Sets of memories with the same compared text, that were let in beside each other.
SELECT group_concat(seq) FROM memory
WHERE namespace = :namespace AND state = 'active' AND norm_hash <> ''
GROUP BY norm_hash, scope, session_id HAVING count(*) > 1;

-- name: changed_memories
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.change_seq > :after AND m.change_seq <= :until AND +m.namespace = :namespace AND +m.state = 'active'
  AND NOT (m.version = 1 AND m.origin IN (SELECT value FROM json_each(:judged)))
ORDER BY m.change_seq LIMIT :limit;

-- name: count_changed
SELECT count(*) FROM memory m
WHERE m.change_seq > :after AND m.change_seq <= :until AND +m.namespace = :namespace AND +m.state = 'active'
  AND NOT (m.version = 1 AND m.origin IN (SELECT value FROM json_each(:judged)));

-- name: put_pair_found
INSERT INTO pair_found (new_seq, old_seq, namespace, relation, new_hash, old_hash, evidence)
VALUES (:new_seq, :old_seq, :namespace, :relation, :new_hash, :old_hash, :evidence)
ON CONFLICT (new_seq, old_seq) DO UPDATE SET
    relation = excluded.relation, new_hash = excluded.new_hash, old_hash = excluded.old_hash,
    evidence = excluded.evidence;

-- name: pairs_found
SELECT new_seq, old_seq, relation, new_hash, old_hash, evidence FROM pair_found
WHERE namespace = :namespace AND relation IN (SELECT value FROM json_each(:relations))
ORDER BY new_seq, old_seq;

-- name: drop_pair_found
DELETE FROM pair_found WHERE new_seq = :new_seq AND old_seq = :old_seq;

-- name: count_cold
SELECT count(*) FROM memory WHERE namespace = :namespace AND state = 'active' AND residence <> 'hot';
