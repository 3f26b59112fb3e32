-- What the database engine of this installation can do, tried on a database in memory.

-- name: try_full_text
CREATE VIRTUAL TABLE trial USING fts5 (tokens, tokenize = 'porter unicode61 remove_diacritics 2');

-- name: vec_version
SELECT vec_version();

-- name: hot_folders (all namespaces: only paths leave)
SELECT DISTINCT directory FROM hot_tier ORDER BY directory;

-- name: all_held_back (all namespaces: only the count leaves)
SELECT count(*) FROM memory m
WHERE m.state = 'active' AND m.residence = 'cold'
  AND m.id IN (SELECT memory_id FROM event WHERE action = 'held_back')
  AND 'held_back' = (
    SELECT action FROM event WHERE memory_id = m.id AND action IN ('held_back', 'moved') ORDER BY seq DESC LIMIT 1
  );

-- name: all_jobs (all namespaces: only counts leave)
SELECT kind, count(*) FILTER (WHERE dead = 0), count(*) FILTER (WHERE dead = 1) FROM job GROUP BY kind ORDER BY kind;

-- name: last_tended (all namespaces: only a time leaves)
SELECT coalesce((SELECT max(ended_at) FROM step_run), (SELECT min(at) FROM event));

-- name: failed_steps (all namespaces: only names of steps leave)
SELECT DISTINCT step FROM step_run WHERE outcome = 'failed' ORDER BY step;
