-- Statements on pairs of memories that wait for the opinion of a language model.

-- name: queue_pair
INSERT INTO judge_pair (namespace, new_id, old_id, new_hash, old_hash, created_at, not_before)
SELECT :namespace, n.id, o.id, n.entry_hash, o.entry_hash, :now, :now FROM memory n, memory o
WHERE n.id = :new_id AND o.id = :old_id AND n.id <> o.id
  AND n.namespace = :namespace AND o.namespace = :namespace AND n.state = 'active' AND o.state = 'active'
ON CONFLICT (new_id, old_id) DO UPDATE SET
    new_hash = excluded.new_hash, old_hash = excluded.old_hash, not_before = excluded.not_before,
    attempts = 0, lease_until = 0, last_error = '', dead = 0;

-- name: any_due_pair
SELECT 1 FROM judge_pair
WHERE namespace IN (SELECT value FROM json_each(:namespaces)) AND dead = 0
  AND not_before NOT BETWEEN :now + 1 AND :latest AND lease_until NOT BETWEEN :now + 1 AND :latest
LIMIT 1;

-- name: drop_changed_pairs
DELETE FROM judge_pair
WHERE namespace IN (SELECT value FROM json_each(:namespaces)) AND NOT EXISTS (
    SELECT 1 FROM memory n, memory o
    WHERE n.id = judge_pair.new_id AND o.id = judge_pair.old_id AND n.state = 'active' AND o.state = 'active'
      AND n.entry_hash = judge_pair.new_hash AND o.entry_hash = judge_pair.old_hash
);

-- name: due_pair
SELECT p.id, p.new_id, p.old_id, p.new_hash, p.old_hash, p.attempts, n.content, o.content
FROM judge_pair p JOIN memory n ON n.id = p.new_id JOIN memory o ON o.id = p.old_id
WHERE p.namespace IN (SELECT value FROM json_each(:namespaces)) AND p.dead = 0
  AND p.not_before NOT BETWEEN :now + 1 AND :latest AND p.lease_until NOT BETWEEN :now + 1 AND :latest
  AND n.state = 'active' AND o.state = 'active' AND n.entry_hash = p.new_hash AND o.entry_hash = p.old_hash
ORDER BY p.not_before, p.id LIMIT 1;

-- name: lease_pair
UPDATE judge_pair SET lease_until = :until WHERE id = :id;

-- name: pair_still_wanted
SELECT 1 FROM judge_pair p JOIN memory n ON n.id = p.new_id JOIN memory o ON o.id = p.old_id
WHERE p.id = :id AND n.namespace = p.namespace AND o.namespace = p.namespace
  AND n.state = 'active' AND o.state = 'active' AND n.entry_hash = :new_hash AND o.entry_hash = :old_hash;

-- name: finish_pair
DELETE FROM judge_pair WHERE id = :id AND new_hash = :new_hash AND old_hash = :old_hash;

-- name: fail_pair
UPDATE judge_pair SET attempts = attempts + 1, not_before = :not_before, lease_until = 0, last_error = :error, dead = :dead
WHERE id = :id;

-- name: release_pair
UPDATE judge_pair SET lease_until = 0 WHERE id = :id;

-- name: postpone_pairs
UPDATE judge_pair SET not_before = max(not_before, :not_before), last_error = :error
WHERE namespace IN (SELECT value FROM json_each(:namespaces)) AND dead = 0;

-- name: count_pairs
SELECT count(*) FILTER (WHERE dead = 0), count(*) FILTER (WHERE dead = 1) FROM judge_pair
WHERE namespace IN (SELECT value FROM json_each(:namespaces));
