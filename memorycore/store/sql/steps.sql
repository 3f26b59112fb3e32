-- Statements on the runs of maintenance steps.

-- name: step_run
SELECT step, lease_by, lease_until, started_at, ended_at, outcome, cursor, result, next_due FROM step_run
WHERE namespace = :namespace AND step = :step;

-- name: step_runs
SELECT namespace, step, lease_by, lease_until, started_at, ended_at, outcome, cursor, result, next_due FROM step_run
WHERE namespace IN (SELECT value FROM json_each(:namespaces)) ORDER BY step;

-- name: lease_step
INSERT INTO step_run (namespace, step, lease_by, token, lease_until, started_at)
VALUES (:namespace, :step, :owner, :token, :until, :now)
ON CONFLICT (namespace, step) DO UPDATE SET
    lease_by = excluded.lease_by, token = excluded.token, lease_until = excluded.lease_until,
    started_at = excluded.started_at, outcome = ''
WHERE step_run.lease_until NOT BETWEEN :now + 1 AND :latest
RETURNING cursor;

-- name: hold_step
UPDATE step_run SET lease_until = :until, cursor = coalesce(:cursor, cursor)
WHERE namespace = :namespace AND step = :step AND token = :token;

-- name: end_step
UPDATE step_run SET
    token = '', lease_by = '', lease_until = 0, ended_at = :now, outcome = :outcome, cursor = :cursor, result = :result,
    next_due = :next_due
WHERE namespace = :namespace AND step = :step AND token = :token;

-- name: make_step_due
INSERT INTO step_run (namespace, step, next_due) VALUES (:namespace, :step, :now)
ON CONFLICT (namespace, step) DO UPDATE SET next_due = min(next_due, excluded.next_due);
