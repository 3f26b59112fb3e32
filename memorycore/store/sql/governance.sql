-- Statements on what governance keeps beside the memories: edges, tombstones, changes that were undone.

-- name: upsert_edge
INSERT INTO edge (namespace, src, dst, relation, status, origin, evidence, created_at)
VALUES (:namespace, :src, :dst, :relation, :status, :origin, :evidence, :created_at)
ON CONFLICT (src, dst, relation) DO UPDATE SET
    status = excluded.status, origin = excluded.origin, evidence = excluded.evidence, settled_at = NULL, settled_by = ''
RETURNING id;

-- name: settle_edge
UPDATE edge SET status = :status, settled_at = :settled_at, settled_by = :settled_by
WHERE id = :id AND namespace = :namespace;

-- name: edge_by_id
SELECT id, namespace, src, dst, relation, status, origin, evidence, created_at, settled_at, settled_by FROM edge
WHERE id = :id AND namespace IN (SELECT value FROM json_each(:namespaces));

-- name: edges_of
SELECT id, namespace, src, dst, relation, status, origin, evidence, created_at, settled_at, settled_by FROM edge
WHERE (src = :memory_id OR dst = :memory_id) AND namespace IN (SELECT value FROM json_each(:namespaces)) ORDER BY id;

-- name: waiting_edges
SELECT
    e.id, e.namespace, e.src, e.dst, e.relation, e.status, e.origin, e.evidence, e.created_at, e.settled_at, e.settled_by
FROM edge e
JOIN memory n ON n.id = e.src AND n.state = 'active'
JOIN memory o ON o.id = e.dst AND o.state = 'active'
WHERE e.status IN ('open', 'proposed') AND e.namespace IN (SELECT value FROM json_each(:namespaces))
ORDER BY e.id;

-- name: quarantined_memories
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.state <> 'active' AND m.state = 'trashed' AND m.trash_reason = 'quarantined'
  AND m.namespace IN (SELECT value FROM json_each(:namespaces))
ORDER BY m.seq;

-- name: flagged_memories
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.state = 'active' AND m.residence = 'hot' AND m.flags <> '[]'
  AND NOT EXISTS (SELECT 1 FROM json_each(m.flags) WHERE value = 'left')
  AND m.namespace IN (SELECT value FROM json_each(:namespaces))
ORDER BY m.seq;

-- name: count_waiting
SELECT
    (SELECT count(*) FROM edge e JOIN memory n ON n.id = e.src AND n.state = 'active'
     JOIN memory o ON o.id = e.dst AND o.state = 'active'
     WHERE e.status = 'open' AND e.namespace IN (SELECT value FROM json_each(:namespaces))),
    (SELECT count(*) FROM edge e JOIN memory n ON n.id = e.src AND n.state = 'active'
     JOIN memory o ON o.id = e.dst AND o.state = 'active'
     WHERE e.status = 'proposed' AND e.namespace IN (SELECT value FROM json_each(:namespaces))),
    (SELECT count(*) FROM memory m WHERE m.state <> 'active' AND m.state = 'trashed' AND m.trash_reason = 'quarantined'
     AND m.namespace IN (SELECT value FROM json_each(:namespaces))),
    (SELECT count(*) FROM memory m WHERE m.state = 'active' AND m.residence = 'hot' AND m.flags <> '[]'
     AND NOT EXISTS (SELECT 1 FROM json_each(m.flags) WHERE value = 'left')
     AND m.namespace IN (SELECT value FROM json_each(:namespaces)));

-- name: open_disputes_of
SELECT id, namespace, src, dst, relation, status, origin, evidence, created_at, settled_at, settled_by FROM edge INDEXED BY edge_waiting
WHERE relation = 'contradicts' AND status IN ('open', 'proposed') AND status = 'open' AND namespace IN (SELECT value FROM json_each(:namespaces))
  AND (src IN (SELECT value FROM json_each(:ids)) OR dst IN (SELECT value FROM json_each(:ids)))
ORDER BY id;

-- name: put_tombstone
INSERT INTO tombstone (namespace, norm_hash, memory_id, reason, at)
VALUES (:namespace, :norm_hash, :memory_id, :reason, :at)
ON CONFLICT (namespace, norm_hash) DO UPDATE SET memory_id = excluded.memory_id, reason = excluded.reason, at = excluded.at;

-- name: lift_tombstone
DELETE FROM tombstone WHERE namespace = :namespace AND norm_hash = :norm_hash;

-- name: tombstone
SELECT memory_id, reason FROM tombstone WHERE namespace = :namespace AND norm_hash = :norm_hash;

-- name: keep_hands_off
INSERT INTO hands_off (namespace, memory_id, norm_hash, until) VALUES (:namespace, :memory_id, :norm_hash, :until)
ON CONFLICT (namespace, memory_id, norm_hash) DO UPDATE SET until = excluded.until;

-- name: hands_off
SELECT 1 FROM hands_off
WHERE namespace = :namespace AND memory_id IN (:memory_id, :own_hash) AND norm_hash = :norm_hash AND until > :now
LIMIT 1;

-- name: hands_off_now
SELECT memory_id, norm_hash, until FROM hands_off WHERE namespace = :namespace AND until > :now;

-- name: take_hands_back
DELETE FROM hands_off
WHERE namespace = :namespace AND memory_id IN (:memory_id, :own_hash) AND norm_hash = :norm_hash;

-- name: memories_matching
-- Everything that matches, also what is not valid yet or any more, and what belongs to one session.
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.namespace IN (SELECT value FROM json_each(:namespaces)) AND m.state <> 'purged'
  AND (:in_use = 0 OR m.state = 'active')
  AND (:kind = '' OR m.kind = :kind) AND (:policy = '' OR m.policy = :policy)
  AND (:target = '' OR m.target = :target) AND (:tier = '' OR (m.residence = 'hot') = (:tier = 'hot'))
  AND (:session_id = '' OR m.session_id = :session_id) AND (:author = '' OR m.author = :author)
  AND (:since IS NULL OR ifnull(m.occurred_at, m.created_at) >= :since)
  AND (:until IS NULL OR ifnull(m.occurred_at, m.created_at) <= :until)
  AND (:tagged = 0 OR m.tags <> '[]')
  AND (:match = '' OR m.seq IN (
    SELECT rowid FROM memory_text WHERE memory_text MATCH :match
    UNION ALL
    SELECT rowid FROM archive_text WHERE archive_text MATCH :match
  ))
ORDER BY m.seq;
