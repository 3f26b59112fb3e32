-- Statements on the one table of work that is done later.
-- A time that lies further ahead than any pause is one of a clock that ran ahead: it counts as past.

-- name: put_job
INSERT INTO job (kind, namespace, subject, memory_seq, other_seq, facts, priority, not_before)
VALUES (:kind, :namespace, :subject, :memory_seq, :other_seq, :facts, :priority, :not_before)
ON CONFLICT (kind, namespace, subject) DO UPDATE SET
    memory_seq = excluded.memory_seq, other_seq = excluded.other_seq, facts = excluded.facts,
    priority = excluded.priority, not_before = excluded.not_before, attempts = 0, token = '', lease_until = 0,
    last_error = '', dead = 0;

-- name: put_job_once
INSERT INTO job (kind, namespace, subject, memory_seq, other_seq, facts, priority, not_before)
VALUES (:kind, :namespace, :subject, :memory_seq, :other_seq, :facts, :priority, :not_before)
ON CONFLICT (kind, namespace, subject) DO NOTHING;

-- name: any_due_job (all namespaces: only the fact leaves)
SELECT 1 FROM job
WHERE kind IN (SELECT value FROM json_each(:kinds)) AND dead = 0
  AND (:namespaces = '' OR namespace IN (SELECT value FROM json_each(:namespaces)))
  AND not_before NOT BETWEEN :now + 1 AND :latest AND lease_until NOT BETWEEN :now + 1 AND :latest
LIMIT 1;

-- name: due_jobs
SELECT id, kind, namespace, subject, memory_seq, other_seq, facts, priority, attempts FROM job
WHERE kind IN (SELECT value FROM json_each(:kinds)) AND dead = 0
  AND (:namespaces = '' OR namespace IN (SELECT value FROM json_each(:namespaces)))
  AND not_before NOT BETWEEN :now + 1 AND :latest AND lease_until NOT BETWEEN :now + 1 AND :latest
ORDER BY priority, not_before, id LIMIT :most;

-- name: lease_job
UPDATE job SET token = :token, lease_until = :until WHERE id = :id;

-- name: job_is_held
SELECT 1 FROM job WHERE id = :id AND token = :token;

-- name: end_job
DELETE FROM job WHERE id = :id AND token = :token;

-- name: fail_job
UPDATE job SET attempts = attempts + 1, not_before = :not_before, token = '', lease_until = 0, last_error = :error, dead = :dead
WHERE id = :id AND token = :token;

-- name: postpone_job
UPDATE job SET not_before = :not_before, token = '', lease_until = 0, last_error = :error WHERE id = :id AND token = :token;

-- name: postpone_jobs_of_kind
UPDATE job SET not_before = max(not_before, :not_before), last_error = :error
WHERE kind = :kind AND dead = 0 AND namespace IN (SELECT value FROM json_each(:namespaces));

-- name: drop_job
DELETE FROM job WHERE kind = :kind AND namespace = :namespace AND subject = :subject;

-- name: any_job (all namespaces: only the fact leaves)
SELECT 1 FROM job WHERE kind = :kind LIMIT 1;

-- name: count_jobs
SELECT kind, count(*) FILTER (WHERE dead = 0 AND priority < 5), count(*) FILTER (WHERE dead = 1) FROM job
WHERE namespace IN (SELECT value FROM json_each(:namespaces)) GROUP BY kind ORDER BY kind;

-- name: dead_jobs
SELECT j.id, j.kind, j.namespace, j.subject, j.attempts, j.last_error, ifnull(m.id, '') FROM job j LEFT JOIN memory m ON m.seq = j.memory_seq
WHERE j.dead = 1 AND j.namespace IN (SELECT value FROM json_each(:namespaces)) ORDER BY j.id LIMIT :most;

-- name: revive_jobs
UPDATE job SET dead = 0, attempts = 0, not_before = :now, token = '', lease_until = 0
WHERE dead = 1 AND namespace IN (SELECT value FROM json_each(:namespaces)) AND (:kind = '' OR kind = :kind);
