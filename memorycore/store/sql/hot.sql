-- Statements on hot tiers and on changes to them that are under way.

-- name: upsert_hot_tier
INSERT INTO hot_tier (namespace, directory, target, first_seen_at) VALUES (:namespace, :directory, :target, :now)
ON CONFLICT (directory, target, namespace) DO NOTHING;

-- name: hot_tier
SELECT id, file_sha, first_seen_at FROM hot_tier
WHERE directory = :directory AND target = :target AND namespace = :namespace;

-- name: hot_tiers_of_target
SELECT id, directory FROM hot_tier WHERE namespace = :namespace AND target = :target;

-- name: move_hot_tier
UPDATE hot_tier SET directory = :directory WHERE id = :hot_tier;

-- name: set_file_sha
UPDATE hot_tier SET file_sha = :file_sha WHERE id = :hot_tier AND file_sha <> :file_sha;

-- name: insert_intent
INSERT INTO hot_intent (namespace, hot_tier, memory_id, old_text, new_text, plan, started_at, owner)
VALUES (:namespace, :hot_tier, :memory_id, :old_text, :new_text, :plan, :started_at, :owner) RETURNING id;

-- name: open_intents
SELECT id, memory_id, old_text, new_text, plan, started_at, owner FROM hot_intent
WHERE hot_tier = :hot_tier AND namespace = :namespace ORDER BY id;

-- name: all_open_intents
SELECT id, memory_id, old_text, new_text, plan, started_at, owner FROM hot_intent
WHERE namespace = :namespace ORDER BY id;

-- name: close_intent
DELETE FROM hot_intent WHERE id = :id RETURNING id;

-- name: let_go_intents
UPDATE hot_intent SET owner = '' WHERE namespace = :namespace AND id IN (SELECT value FROM json_each(:ids));

-- name: stale_pointers
-- Pointers to texts that stand in the file themselves. One that another memory has by now is that one's.
SELECT m.seq, m.entry_hash, s.pointer FROM memory m JOIN hot_standing s ON s.memory_seq = m.seq
WHERE m.namespace = :namespace AND m.hot_tier = :hot_tier AND m.residence = 'hot' AND m.state = 'active'
  AND s.pointer <> '' AND s.pointer NOT IN (
    SELECT p.pointer FROM memory o JOIN hot_standing p ON p.memory_seq = o.seq
    WHERE o.namespace = :namespace AND o.hot_tier = :hot_tier AND o.residence = 'stub' AND o.state = 'active'
  );

-- name: pointers_once_in_use
-- As the ledger has them, the last one last; also of memories that are not in use.
SELECT m.seq, e.facts ->> '$.pointer' FROM event e JOIN memory m ON m.id = e.memory_id
WHERE m.namespace = :namespace AND m.hot_tier = :hot_tier
  AND e.namespace = :namespace AND e.action = 'moved' AND e.facts ->> '$.pointer' IS NOT NULL
ORDER BY e.seq;

-- name: clear_pointer
UPDATE hot_standing SET pointer = '' WHERE memory_seq = :seq AND namespace = :namespace;

-- name: pointers_in_use
-- Pointers of active memories of a hot file, of those that stand and of those that once stood; the best owner last.
SELECT m.seq, s.pointer FROM memory m JOIN hot_standing s ON s.memory_seq = m.seq
WHERE m.namespace = :namespace AND m.hot_tier = :hot_tier AND m.state = 'active' AND s.pointer <> ''
ORDER BY m.residence = 'stub', m.residence = 'hot', s.retired_at;

-- name: lacks_standing
-- Memories of a hot file that nobody knows how they stand.
SELECT m.seq FROM memory m
WHERE m.namespace = :namespace AND m.hot_tier = :hot_tier AND m.residence <> 'cold' AND m.state = 'active'
  AND NOT EXISTS (SELECT 1 FROM hot_standing s WHERE s.memory_seq = m.seq);

-- name: safe_texts
-- What the store says of memories that recall can find.
SELECT m.seq, m.content FROM memory m JOIN memory_text t ON t.rowid = m.seq
WHERE m.namespace = :namespace AND m.seq IN (SELECT value FROM json_each(:seqs)) AND m.state = 'active';

-- name: count_held_back
-- Cold memories by target whose last word on their place is that the file had none for them.
SELECT m.target, count(*) FROM memory m
WHERE m.namespace IN (SELECT value FROM json_each(:namespaces)) AND m.state = 'active' AND m.residence = 'cold'
  AND m.id IN (SELECT memory_id FROM event WHERE action = 'held_back')
  AND 'held_back' = (
    SELECT action FROM event WHERE memory_id = m.id AND action IN ('held_back', 'moved') ORDER BY seq DESC LIMIT 1
  )
GROUP BY m.target;

-- name: protected_alike
-- Entries of a hot file, and texts on their way into it, that are protected for these very reasons.
SELECT count(*), coalesce(sum(length(content)), 0) FROM memory
WHERE namespace = :namespace AND state = 'active' AND protected = :protected AND (
    residence = 'hot' AND hot_tier = :hot_tier
    OR id IN (SELECT memory_id FROM hot_intent WHERE hot_tier = :hot_tier AND namespace = :namespace)
);

-- name: memories_out_of_file
-- Memories in use that once stood in a hot file, and rules that belong there and never found room.
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.namespace = :namespace AND m.state = 'active' AND m.residence = 'cold' AND m.scope = 'global'
  AND (m.hot_tier = :hot_tier OR (m.hot_tier IS NULL AND m.target = :target AND m.policy IN ('core', 'rule')))
ORDER BY m.seq;
