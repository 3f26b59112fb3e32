-- Statements of search. They read; only the ones on the vector index write.

-- name: rows_for_search
-- All live memories as columns, without their texts, with `past` also those that are superseded; what is neither is for
-- the follower to drop.
SELECT m.seq, m.namespace, m.state = 'active' OR :past AND m.state IN ('superseded', 'expired'), m.state IN ('superseded', 'expired'), m.kind, m.policy, m.target, m.residence = 'hot', m.scope = 'session',
    m.session_id, m.author, ifnull(m.valid_from, -9223372036854775807), ifnull(m.valid_until, 9223372036854775807),
    m.created_at, ifnull(m.occurred_at, m.created_at), m.confidence, m.source ->> '$.status', m.use_count, m.last_used_at,
    m.tags, length(CAST(m.content AS BLOB)), substr(m.content, 1, 96),
    substr(rtrim(m.content, char(32, 9, 10, 12288)), -1) IN ('?', char(65311), char(1567))
FROM memory m
-- The signs of plus keep to the index of changes: what is followed is a row or two, and not the whole table.
WHERE m.change_seq > :since AND +m.namespace IN (SELECT value FROM json_each(:namespaces))
    AND (:since > 0 OR m.state = 'active' OR :past AND m.state IN ('superseded', 'expired'))
ORDER BY +m.seq;

-- name: rows_with_words (all namespaces: the index of words knows none; rows that the caller may not see are dropped by seq)
-- One text for all: many rows are read faster so.
SELECT group_concat(rowid) FROM memory_text WHERE memory_text MATCH :match;

-- name: past_rows_with_words (all namespaces: the same, in both indexes of words)
SELECT group_concat(rowid) FROM (
    SELECT rowid FROM memory_text WHERE memory_text MATCH :match
    UNION ALL SELECT rowid FROM archive_text WHERE archive_text MATCH :match
);

-- name: wordings_at
SELECT r.memory_seq, r.content, r.version, r.written_at, min(r.replaced_at)
FROM revision r JOIN memory m ON m.seq = r.memory_seq
WHERE r.replaced_at > :at AND m.state IN ('active', 'superseded', 'expired')
    AND m.namespace IN (SELECT value FROM json_each(:namespaces))
GROUP BY r.memory_seq;

-- name: any_binned
-- `state <> 'active'` says no more than the rest does, but SQLite takes the index of those rows for it; so elsewhere.
SELECT 1 FROM memory WHERE namespace IN (SELECT value FROM json_each(:namespaces)) AND state <> 'active' AND state = 'trashed' LIMIT 1;

-- name: newest_binned
SELECT seq FROM memory WHERE namespace IN (SELECT value FROM json_each(:namespaces)) AND state <> 'active' AND state = 'trashed'
ORDER BY trashed_at DESC LIMIT :most;

-- name: binned_by_seq
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.namespace IN (SELECT value FROM json_each(:namespaces)) AND m.state <> 'active' AND m.state = 'trashed'
    AND (m.seq IN (SELECT value FROM json_each(:seqs)) OR m.norm_hash = :norm_hash);

-- name: texts_with_stem (all namespaces: a count that decides what is worth reading)
SELECT doc FROM memory_vocab WHERE term = :stem;

-- name: texts_with_stems (all namespaces: counts that decide what is worth reading)
SELECT v.term, v.doc FROM json_each(:stems) j CROSS JOIN memory_vocab v ON v.term = j.value;

-- name: newest_row (all namespaces: about how many memories there are)
SELECT max(seq) FROM memory;

-- name: places_of_words (all namespaces: the index of words knows none; the next statement drops what is not comparable)
SELECT (SELECT group_concat(rowid) FROM (SELECT rowid FROM memory_text WHERE memory_text MATCH j.value LIMIT :most))
FROM json_each(:words) j;

-- name: archived_places_of_words (all namespaces: the same for what is superseded or in the bin)
SELECT (SELECT group_concat(rowid) FROM (SELECT rowid FROM archive_text WHERE archive_text MATCH j.value LIMIT :most))
FROM json_each(:words) j;

-- name: comparable_texts
SELECT m.seq, substr(m.content, 1, :chars), m.state = 'active' FROM memory m
WHERE m.seq IN (SELECT value FROM json_each(:seqs)) AND m.namespace = :namespace
    AND m.state IN ('active', 'superseded', 'trashed')
    AND m.scope = :scope AND (m.scope = 'global' OR m.session_id = :session_id) AND m.id <> :id;

-- name: texts_by_seq
SELECT m.seq, m.content FROM memory m
WHERE m.seq IN (SELECT value FROM json_each(:seqs)) AND m.namespace IN (SELECT value FROM json_each(:namespaces));

-- name: ids_by_seq
SELECT m.seq, m.id FROM memory m
WHERE m.seq IN (SELECT value FROM json_each(:seqs)) AND m.namespace IN (SELECT value FROM json_each(:namespaces));

-- name: seqs_by_name
SELECT m.seq FROM memory m
WHERE m.namespace IN (SELECT value FROM json_each(:namespaces))
    AND (m.id IN (SELECT value FROM json_each(:ids))
        OR m.seq IN (SELECT memory_seq FROM memory_ref WHERE ref = :ref));

-- name: seqs_by_id_end
-- Of ids of our own that end like these, those that nobody shares. The index of ids is gone through, and no row.
SELECT max(m.seq) FROM (
    SELECT seq, substr(id, -8) AS tail FROM memory
    WHERE substr(id, -8) IN (SELECT value FROM json_each(:ends)) AND id GLOB '????????-????-????-????-????????????'
) e JOIN memory m ON m.seq = e.seq
WHERE m.namespace IN (SELECT value FROM json_each(:namespaces))
GROUP BY e.tail HAVING count(*) = 1;

-- name: recent_uses
SELECT memory_seq, used_at FROM memory_use
WHERE memory_seq IN (SELECT value FROM json_each(:seqs)) ORDER BY memory_seq, used_at DESC;

-- name: count_vectors_since (all namespaces: room for the rows of the next statement)
SELECT count(*) FROM embedding e JOIN memory m ON m.seq = e.memory_seq
WHERE e.fingerprint_id = :fingerprint_id AND m.change_seq > :since;

-- name: changed_since (all namespaces: whose vectors are to be read again)
SELECT seq FROM memory WHERE change_seq > :since;

-- name: all_vectors (all namespaces: kept apart by the column; answers are of one namespace, or filtered by seq)
SELECT e.memory_seq, e.vector, m.content, m.namespace, m.state = 'active' FROM embedding e JOIN memory m ON m.seq = e.memory_seq
WHERE e.fingerprint_id = :fingerprint_id AND m.change_seq > :since;

-- name: vectors_since (all namespaces: the same for the few that changed, which CROSS JOIN makes the start)
SELECT e.memory_seq, e.vector, m.content, m.namespace, m.state = 'active'
FROM memory m CROSS JOIN embedding e ON e.memory_seq = m.seq
WHERE e.fingerprint_id = :fingerprint_id AND m.change_seq > :since;

-- name: vectors_by_seq (all namespaces: asked for with rows that were filtered already)
SELECT e.memory_seq, e.vector, m.content FROM embedding e JOIN memory m ON m.seq = e.memory_seq
WHERE e.fingerprint_id = :fingerprint_id AND e.memory_seq IN (SELECT value FROM json_each(:seqs))
ORDER BY e.memory_seq, e.part;

-- The index of vectors for processes that do not live long: sqlite-vec's table memory_vector, whose rowid is embedding.id.
-- It is made outside the migrations, since it needs the extension; it can be dropped and made again at any time.

-- name: vector_index_recipe
SELECT (SELECT value FROM counter WHERE name = 'vector_index'),
    EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'memory_vector');

-- name: set_vector_index_recipe
INSERT INTO counter (name, value) VALUES ('vector_index', :recipe)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: drop_vector_index
DROP TABLE IF EXISTS memory_vector;

-- name: unmark_indexed
UPDATE embedding SET indexed = 0 WHERE indexed <> 0;

-- name: count_embeddings
SELECT count(*), count(*) FILTER (WHERE indexed = 0) FROM embedding WHERE fingerprint_id = :fingerprint_id;

-- name: unindexed_vectors (all namespaces: vectors are indexed for all; answers are filtered by seq)
SELECT e.id, e.memory_seq, e.vector, m.content FROM embedding e JOIN memory m ON m.seq = e.memory_seq
WHERE e.fingerprint_id = :fingerprint_id AND e.indexed = 0
LIMIT :limit;

-- name: index_vector
INSERT INTO memory_vector (rowid, residual) VALUES (:id, :residual);

-- name: unindex_vector
DELETE FROM memory_vector WHERE rowid = :id;

-- name: mark_indexed
UPDATE embedding SET indexed = 1 WHERE id IN (SELECT value FROM json_each(:ids));

-- name: orphaned_vectors
SELECT v.rowid FROM memory_vector v
WHERE NOT EXISTS (SELECT 1 FROM embedding e WHERE e.id = v.rowid AND e.indexed = 1)
LIMIT :limit;

-- name: nearest_vectors_of_namespace
SELECT e.memory_seq
FROM (SELECT rowid AS id, distance FROM memory_vector WHERE residual MATCH :question AND k = :count) v
    JOIN embedding e ON e.id = v.id AND e.fingerprint_id = :fingerprint_id AND e.indexed = 1
    JOIN memory m ON m.seq = e.memory_seq AND m.namespace = :namespace
ORDER BY v.distance, e.memory_seq;

-- name: nearest_vectors
SELECT e.memory_seq
FROM (
    SELECT rowid AS id, distance FROM memory_vector
    WHERE residual MATCH :question AND k = :count
        AND rowid IN (
            SELECT id FROM embedding
            WHERE fingerprint_id = :fingerprint_id AND indexed = 1 AND memory_seq IN (SELECT value FROM json_each(:seqs))
        )
) v JOIN embedding e ON e.id = v.id
ORDER BY v.distance, e.memory_seq;
