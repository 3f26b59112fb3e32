-- Statements that keep the database in order. They run over the whole store; no text leaves them.

-- name: rows_without_text (all namespaces: upkeep)
SELECT seq FROM memory WHERE state = 'active' AND seq NOT IN (SELECT rowid FROM memory_text);

-- name: texts_without_row (all namespaces: upkeep)
SELECT rowid FROM memory_text WHERE rowid NOT IN (SELECT seq FROM memory WHERE state = 'active');

-- name: content_by_seq (all namespaces: upkeep)
SELECT content FROM memory WHERE seq = :seq;

-- name: count_dead_vectors (all namespaces: upkeep)
SELECT count(*) FROM embedding WHERE memory_seq NOT IN (SELECT seq FROM memory WHERE state = 'active');

-- name: delete_dead_vectors (all namespaces: upkeep)
DELETE FROM embedding WHERE memory_seq NOT IN (SELECT seq FROM memory WHERE state = 'active');

-- name: check_text
INSERT INTO memory_text (memory_text) VALUES ('integrity-check');

-- name: rebuild_text
INSERT INTO memory_text (memory_text) VALUES ('rebuild');

-- name: fold_uses (all namespaces: upkeep)
UPDATE memory SET
    use_count = use_count + old.uses,
    last_used_at = max(coalesce(last_used_at, 0), old.newest)
FROM (
    SELECT memory_seq, count(*) AS uses, max(used_at) AS newest FROM (
        SELECT memory_seq, used_at, row_number() OVER (PARTITION BY memory_seq ORDER BY used_at DESC) AS place FROM memory_use
    ) WHERE place > :kept GROUP BY memory_seq
) AS old
WHERE memory.seq = old.memory_seq;

-- name: drop_folded_uses
DELETE FROM memory_use WHERE rowid IN (
    SELECT id FROM (
        SELECT rowid AS id, row_number() OVER (PARTITION BY memory_seq ORDER BY used_at DESC) AS place FROM memory_use
    ) WHERE place > :kept
);
