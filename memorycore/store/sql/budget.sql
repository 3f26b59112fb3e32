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
