-- Statements on the hot budget: standings, questions, progress, sessions.

-- name: standings
SELECT memory_seq, weighed_at, touched_at, resident_until, weight, pointer, retired_at, restored_at, compared
FROM hot_standing WHERE namespace = :namespace AND memory_seq IN (SELECT value FROM json_each(:seqs));

-- name: put_standing
INSERT INTO hot_standing (
    memory_seq, namespace, weighed_at, touched_at, resident_until, weight, pointer, retired_at, restored_at, compared
) VALUES (
    :seq, :namespace, :weighed_at, :touched_at, :resident_until, :weight, :pointer, :retired_at, :restored_at, :compared
) ON CONFLICT (memory_seq) DO UPDATE SET
    weighed_at = excluded.weighed_at, touched_at = excluded.touched_at, resident_until = excluded.resident_until,
    weight = excluded.weight, pointer = excluded.pointer, retired_at = excluded.retired_at,
    restored_at = excluded.restored_at, compared = excluded.compared;

-- name: note_query
INSERT INTO query_log (namespace, at, query, source, session_id)
VALUES (:namespace, :at, :query, :source, :session_id);

-- name: note_query_once
INSERT INTO query_log (namespace, at, query, source, session_id)
SELECT :namespace, :at, :query, :source, :session_id
WHERE NOT EXISTS (SELECT 1 FROM query_log WHERE at = :at AND query = :query AND namespace = :namespace)
RETURNING id;

-- name: queries_after
SELECT id, at, query, source, session_id FROM query_log
WHERE namespace = :namespace AND id > :after ORDER BY id LIMIT :limit;

-- name: last_queries
SELECT query FROM query_log WHERE namespace = :namespace AND at >= :since ORDER BY at DESC, id DESC LIMIT :limit;

-- name: count_queries
SELECT count(*), min(at) FROM query_log WHERE namespace = :namespace;

-- name: drop_queries_of
DELETE FROM query_log WHERE namespace = :namespace;

-- name: drop_old_queries (all namespaces: the log is bounded as a whole)
DELETE FROM query_log WHERE at < :before;

-- name: settle_queries (all namespaces: what a clock that ran ahead has noted counts as asked now)
UPDATE query_log SET at = :now WHERE at > :now;

-- name: size_of_queries (all namespaces: the log is bounded as a whole)
SELECT coalesce(sum(octet_length(query) + :row_bytes), 0) FROM query_log;

-- name: drop_first_queries (all namespaces: the log is bounded as a whole)
DELETE FROM query_log WHERE id <= (
    SELECT min(id) FROM (
        SELECT id, sum(octet_length(query) + :row_bytes) OVER (ORDER BY id) AS size FROM query_log
    ) WHERE size >= :excess
);

-- name: all_queries (all namespaces: whoever asked for an erased text, its words go)
SELECT id, query FROM query_log WHERE id > :after ORDER BY id;

-- name: word_elsewhere (all namespaces: only the fact leaves)
SELECT 1 FROM memory_text WHERE memory_text MATCH :match AND rowid NOT IN (SELECT value FROM json_each(:seqs)) LIMIT 1;

-- name: drop_queries (all namespaces: whoever asked for an erased text, its words go)
DELETE FROM query_log WHERE id IN (SELECT value FROM json_each(:numbers));

-- name: progress
SELECT value, at FROM progress WHERE namespace = :namespace AND name = :name;

-- name: put_progress
INSERT INTO progress (namespace, name, value, at) VALUES (:namespace, :name, :value, :at)
ON CONFLICT (namespace, name) DO UPDATE SET value = excluded.value, at = excluded.at;

-- name: session_seen
INSERT INTO host_session (namespace, session_id, started_at, seen_at) VALUES (:namespace, :session_id, :now, :now)
ON CONFLICT (namespace, session_id) DO UPDATE SET seen_at = excluded.seen_at;

-- name: session_ended
DELETE FROM host_session WHERE namespace = :namespace AND session_id = :session_id;

-- name: sweep_sessions (all namespaces: whoever dies leaves its row)
DELETE FROM host_session WHERE seen_at NOT BETWEEN :since AND :until;

-- name: running_session
SELECT 1 FROM host_session
WHERE namespace = :namespace AND seen_at BETWEEN :since AND :until LIMIT 1;

-- name: count_sessions
SELECT count(*) FROM host_session WHERE namespace = :namespace AND seen_at BETWEEN :since AND :until;

-- name: count_pointers
SELECT count(*) FROM memory WHERE namespace = :namespace AND state = 'active' AND residence = 'stub';

-- name: moved_lately
-- What left the hot files by itself and came back, and was not undone: (number of the event, whether it left, its run).
-- A text that an import brought for a pointer that stood there never left.
SELECT seq, action = 'trashed' OR facts ->> '$.to' <> 'hot', run FROM event
WHERE namespace = :namespace AND at >= :since AND automatic = 1 AND undone_by IS NULL
    AND (action = 'trashed' AND (actor = 'overflow' OR reason IN ('stale', 'redundant'))
        OR action = 'moved' AND reason <> 'imported' AND reason NOT LIKE 'pointer%'
            AND (facts ->> '$.to' <> 'hot' OR reason = 'restored_by_recall'))
ORDER BY seq DESC;

-- name: found_since
-- Texts of hot files, and such as left one, that were results since then: when last, and their best place.
SELECT u.memory_seq, max(u.used_at), min(u.place) FROM memory_use u
JOIN hot_standing s ON s.memory_seq = u.memory_seq
WHERE s.namespace = :namespace AND u.used_at > :since GROUP BY u.memory_seq;

-- name: texts_in_files
-- What stands in hot files, whole or as a pointer.
SELECT seq, content FROM memory
WHERE namespace = :namespace AND state = 'active' AND residence <> 'cold' AND hot_tier IS NOT NULL ORDER BY seq;

-- name: said_again
-- Entries that somebody confirmed or edited, and when, in lines of the ledger behind the one with the number `after`.
SELECT m.seq, max(e.at) FROM event e JOIN memory m ON m.id = e.memory_id
WHERE e.seq > :after AND e.seq <= :last AND e.namespace = :namespace AND e.undone_by IS NULL
    AND (e.action = 'confirmed' OR e.action = 'revised' AND e.automatic = 0)
    AND m.namespace = :namespace AND m.state = 'active' AND m.residence <> 'cold'
GROUP BY m.seq;

-- name: newest_event (all namespaces: a number up to which the ledger was read)
SELECT coalesce(max(seq), 0) FROM event;

-- name: pointers
SELECT memory_seq, pointer FROM hot_standing
WHERE namespace IN (SELECT value FROM json_each(:namespaces)) AND pointer <> '' AND retired_at IS NOT NULL ORDER BY memory_seq;
