-- Statements that read the ledger across memories, and that mark what was undone. Newest first.

-- name: newest_events
SELECT seq, at, action, memory_id, actor, reason, facts, run, automatic, change, undone_by FROM event
WHERE namespace IN (SELECT value FROM json_each(:namespaces)) AND at >= :since AND automatic >= :automatic
ORDER BY seq DESC LIMIT :limit;

-- name: changes_of_memory
-- Without what only counts: a memory that is said again every day has thousands of those.
SELECT seq, at, action, memory_id, actor, reason, facts, run, automatic, change, undone_by FROM event
WHERE memory_id = :memory_id AND action NOT IN ('confirmed', 'held_back')
  AND namespace IN (SELECT value FROM json_each(:namespaces)) ORDER BY seq;

-- name: event_by_number
SELECT seq, at, action, memory_id, actor, reason, facts, run, automatic, change, undone_by FROM event
WHERE seq = :seq AND namespace IN (SELECT value FROM json_each(:namespaces));

-- name: events_of_run
SELECT seq, at, action, memory_id, actor, reason, facts, run, automatic, change, undone_by FROM event
WHERE run = :run AND run <> '' AND namespace IN (SELECT value FROM json_each(:namespaces)) ORDER BY seq DESC;

-- name: events_to_undo
-- What an undo did is left out: undoing again and again goes further back, and does not go back and forth.
SELECT seq, at, action, memory_id, actor, reason, facts, run, automatic, change, undone_by FROM event AS e
WHERE namespace IN (SELECT value FROM json_each(:namespaces)) AND at >= :since AND automatic >= :automatic
  AND undone_by IS NULL AND action <> 'undone'
  AND (run = '' OR NOT EXISTS (SELECT 1 FROM event WHERE run <> '' AND run = e.run AND action = 'undone'))
ORDER BY seq DESC LIMIT :limit;

-- name: mark_undone
UPDATE event SET undone_by = :undone_by WHERE seq = :seq AND namespace = :namespace;

-- name: first_event
SELECT at FROM event WHERE namespace = :namespace ORDER BY seq LIMIT 1;
