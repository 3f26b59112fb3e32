-- Statements on a copy of the whole store. It is one for all namespaces.

-- name: count_kept (all namespaces: only the count leaves)
SELECT count(*) FROM memory WHERE state <> 'purged';

-- name: every_hot_tier
SELECT namespace, directory, target FROM hot_tier ORDER BY id;

-- name: epoch
SELECT ifnull((SELECT value FROM counter WHERE name = 'epoch'), 0);

-- name: set_epoch
INSERT INTO counter (name, value) VALUES ('epoch', :epoch) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: lift_changes (all namespaces: whoever follows reads all of it anew)
UPDATE memory SET change_seq = change_seq + :by;

-- name: lift_change_counter
UPDATE counter SET value = value + :by WHERE name = 'change';

-- name: drop_leases
UPDATE step_run SET token = '', lease_by = '', lease_until = 0;

-- name: set_file_sha_of
UPDATE hot_tier SET file_sha = :file_sha WHERE namespace = :namespace AND directory = :directory AND target = :target;
