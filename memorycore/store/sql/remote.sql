-- Statements on copies at a service elsewhere, and on what that service is owed.

-- name: remote_store
SELECT name, since, down_since, next_try, failures, why FROM remote_store WHERE namespace = :namespace;

-- name: follow_remote
INSERT INTO remote_store (namespace, name, since) VALUES (:namespace, :name, :now)
ON CONFLICT (namespace) DO UPDATE SET
    name = excluded.name, since = excluded.since, down_since = NULL, next_try = 0, failures = 0, why = '';

-- name: owe_everything
-- What is cold and has no copy at the service. What waits already waits on.
INSERT INTO job (kind, namespace, subject, priority, not_before)
SELECT 'remote', m.namespace, m.id, 4, 0 FROM memory m
WHERE m.namespace = :namespace AND m.state = 'active' AND m.residence <> 'hot' AND m.scope = 'global'
  AND instr(m.flags, '"untrusted"') = 0
  AND NOT EXISTS (SELECT 1 FROM remote_copy r WHERE r.memory_id = m.id AND r.store = :store)
ON CONFLICT (kind, namespace, subject) DO NOTHING;

-- name: owe_remote
-- A memory changed. One that is wanted there is owed when its text is new or has no copy yet; what is hot has none, but
-- a copy that it has from before follows it. One that is not wanted is owed when there is a copy, or may be one.
INSERT INTO job (kind, namespace, subject, priority, not_before)
SELECT 'remote', r.namespace, :id, 2, 0 FROM remote_store r
WHERE r.namespace = :namespace AND CASE
    WHEN NOT :wanted THEN EXISTS (SELECT 1 FROM remote_copy WHERE memory_id = :id)
      OR EXISTS (SELECT 1 FROM job WHERE kind = 'remote' AND namespace = :namespace AND subject = :id)
    WHEN EXISTS (SELECT 1 FROM remote_copy WHERE memory_id = :id AND store = r.name) THEN :reworded
    ELSE NOT :hot END
ON CONFLICT (kind, namespace, subject) DO UPDATE SET
    priority = min(priority, 2), not_before = CASE dead WHEN 1 THEN 0 ELSE not_before END,
    attempts = CASE dead WHEN 1 THEN 0 ELSE attempts END, dead = 0;

-- name: owe_again
INSERT INTO job (kind, namespace, subject, priority, not_before) VALUES ('remote', :namespace, :id, 2, 0)
ON CONFLICT (kind, namespace, subject) DO NOTHING;

-- name: mark_sent
UPDATE job SET facts = :facts WHERE kind = 'remote' AND namespace = :namespace AND subject = :id;

-- name: owed_to_remote
SELECT subject FROM job
WHERE kind = 'remote' AND namespace = :namespace AND subject IN (SELECT value FROM json_each(:ids));

-- name: remote_jobs_of
SELECT subject, facts FROM job
WHERE kind = 'remote' AND namespace = :namespace AND subject IN (SELECT value FROM json_each(:ids));

-- name: remote_down
UPDATE remote_store SET
    down_since = coalesce(down_since, :now), next_try = :next_try, failures = failures + 1, why = :why
WHERE namespace = :namespace;

-- name: remote_up
UPDATE remote_store SET down_since = NULL, next_try = 0, failures = 0, why = '' WHERE namespace = :namespace;

-- name: remote_copies_of
SELECT store, external, sent FROM remote_copy WHERE memory_id = :id AND namespace = :namespace ORDER BY at DESC;

-- name: remote_copies_left
SELECT store, external FROM remote_copy
WHERE namespace = :namespace AND memory_id IN (SELECT value FROM json_each(:ids)) ORDER BY at;

-- name: put_copy
INSERT INTO remote_copy (store, external, memory_id, namespace, sent, at)
VALUES (:store, :external, :id, :namespace, :sent, :now)
ON CONFLICT (store, external, memory_id) DO UPDATE SET sent = excluded.sent, at = excluded.at;

-- name: drop_copy
DELETE FROM remote_copy WHERE store = :store AND external = :external AND memory_id = :id;

-- name: forget_sent
UPDATE remote_copy SET sent = '' WHERE memory_id = :id;

-- name: copy_shared (all namespaces: one service may give two of them the same id; only the fact leaves)
SELECT 1 FROM remote_copy WHERE store = :store AND external = :external AND memory_id <> :id LIMIT 1;

-- name: same_text_anywhere
-- A memory of ours with this text, in use or not.
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.namespace = :namespace AND m.norm_hash = :norm_hash AND m.state <> 'purged'
ORDER BY m.state = 'active' DESC, m.seq LIMIT 1;

-- name: ours_among (all namespaces: what another namespace stored there is no stranger's either)
SELECT external, memory_id FROM remote_copy
WHERE store = :store AND external IN (SELECT value FROM json_each(:externals));
