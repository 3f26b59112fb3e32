-- Statements of the cold tier: pages of it.

-- name: cold_page
SELECT m.*, (SELECT json_group_array(ref) FROM memory_ref WHERE memory_seq = m.seq) AS refs
FROM memory m
WHERE m.namespace = :namespace AND m.state = 'active' AND m.residence <> 'hot'
ORDER BY m.seq LIMIT :limit OFFSET :offset;
