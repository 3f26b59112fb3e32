-- Statements that keep the database in order. They run over the whole store; no text leaves them.

-- name: rows_without_text (all namespaces: upkeep)
SELECT seq FROM memory WHERE state = 'active' AND seq NOT IN (SELECT rowid FROM memory_text)
UNION ALL
SELECT seq FROM memory WHERE state IN ('superseded', 'expired', 'trashed') AND seq NOT IN (SELECT rowid FROM archive_text);

-- name: texts_without_row (all namespaces: upkeep)
SELECT rowid FROM memory_text WHERE rowid NOT IN (SELECT seq FROM memory WHERE state = 'active')
UNION ALL
SELECT rowid FROM archive_text WHERE rowid NOT IN (SELECT seq FROM memory WHERE state IN ('superseded', 'expired', 'trashed'));

-- name: content_without_text (all namespaces: upkeep)
SELECT content, state FROM memory
WHERE seq = :seq AND (
    state = 'active' AND NOT EXISTS (SELECT 1 FROM memory_text WHERE rowid = :seq)
    OR state IN ('superseded', 'expired', 'trashed') AND NOT EXISTS (SELECT 1 FROM archive_text WHERE rowid = :seq)
);

-- name: count_dead_vectors (all namespaces: upkeep)
SELECT count(*) FROM embedding
WHERE memory_seq NOT IN (SELECT seq FROM memory WHERE state IN ('active', 'superseded', 'expired', 'trashed'));

-- name: delete_dead_vectors (all namespaces: upkeep)
DELETE FROM embedding WHERE id IN (
    SELECT id FROM embedding
    WHERE memory_seq NOT IN (SELECT seq FROM memory WHERE state IN ('active', 'superseded', 'expired', 'trashed')) LIMIT :limit
);

-- name: check_all
SELECT quick_check FROM pragma_quick_check LIMIT :most;

-- name: check_text
SELECT quick_check FROM pragma_quick_check('memory_text') LIMIT 1;

-- name: rebuild_text
INSERT INTO memory_text (memory_text) VALUES ('rebuild');

-- name: texts_of_vectors (all namespaces: upkeep)
SELECT e.memory_seq, e.text_hash, m.content FROM embedding e JOIN memory m ON m.seq = e.memory_seq WHERE e.part = 0;

-- name: count_dead_edges (all namespaces: upkeep)
SELECT count(*) FROM edge WHERE src NOT IN (SELECT id FROM memory) OR dst NOT IN (SELECT id FROM memory);

-- name: delete_dead_edges (all namespaces: upkeep)
DELETE FROM edge WHERE src NOT IN (SELECT id FROM memory) OR dst NOT IN (SELECT id FROM memory);

-- name: count_not_indexed (all namespaces: upkeep)
SELECT count(*) FROM embedding WHERE indexed = 1 AND id NOT IN (SELECT rowid FROM memory_vector_rowids);

-- name: unmark_not_indexed (all namespaces: upkeep)
UPDATE embedding SET indexed = 0 WHERE indexed = 1 AND id NOT IN (SELECT rowid FROM memory_vector_rowids);

-- name: vector_index_fill (all namespaces: upkeep)
SELECT (SELECT count(*) FROM memory_vector_rowids), (SELECT count(*) * 1024 FROM memory_vector_chunks);

-- name: some_indexed (all namespaces: upkeep)
SELECT rowid FROM memory_vector_rowids LIMIT :limit;

-- name: unmark_some (all namespaces: upkeep)
UPDATE embedding SET indexed = 0 WHERE id IN (SELECT value FROM json_each(:ids));

-- name: optimise
PRAGMA optimize;

-- name: pages
SELECT page_count FROM pragma_page_count;

-- name: free_pages
SELECT freelist_count FROM pragma_freelist_count;

-- name: page_size
SELECT page_size FROM pragma_page_size;

-- name: give_pages_back
PRAGMA incremental_vacuum(200);

-- name: often_used (all namespaces: upkeep)
SELECT memory_seq FROM memory_use GROUP BY memory_seq HAVING count(*) > :kept;

-- name: fold_uses (all namespaces: upkeep)
UPDATE memory SET
    use_count = use_count + old.uses,
    last_used_at = max(coalesce(last_used_at, 0), old.newest)
FROM (
    SELECT memory_seq, count(*) AS uses, max(used_at) AS newest FROM (
        SELECT memory_seq, used_at, row_number() OVER (PARTITION BY memory_seq ORDER BY used_at DESC) AS place FROM memory_use
        WHERE memory_seq IN (SELECT value FROM json_each(:seqs))
    ) WHERE place > :kept GROUP BY memory_seq
) AS old
WHERE memory.seq = old.memory_seq;

-- name: drop_folded_uses
DELETE FROM memory_use WHERE rowid IN (
    SELECT id FROM (
        SELECT rowid AS id, row_number() OVER (PARTITION BY memory_seq ORDER BY used_at DESC) AS place FROM memory_use
        WHERE memory_seq IN (SELECT value FROM json_each(:seqs))
    ) WHERE place > :kept
);
