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

-- name: close_intent
DELETE FROM hot_intent WHERE id = :id RETURNING id;
