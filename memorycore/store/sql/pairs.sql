-- Statements on pairs of memories that wait for the opinion of a language model: jobs of the kind 'verdict'.

-- name: pair_to_queue
SELECT n.seq, o.seq, n.entry_hash, o.entry_hash FROM memory n, memory o
WHERE n.id = :new_id AND o.id = :old_id AND n.id <> o.id
  AND n.namespace = :namespace AND o.namespace = :namespace AND n.state = 'active' AND o.state = 'active';

-- name: drop_changed_pairs
DELETE FROM job
WHERE kind = 'verdict' AND namespace IN (SELECT value FROM json_each(:namespaces)) AND NOT EXISTS (
    SELECT 1 FROM memory n, memory o
    WHERE n.seq = job.memory_seq AND o.seq = job.other_seq AND n.state = 'active' AND o.state = 'active'
      AND n.entry_hash = job.facts ->> '$.new' AND o.entry_hash = job.facts ->> '$.old'
);

-- name: pair_of_job
SELECT n.id, o.id, n.entry_hash, o.entry_hash, n.content, o.content FROM memory n, memory o
WHERE n.seq = :new_seq AND o.seq = :old_seq AND n.namespace = :namespace AND o.namespace = :namespace
  AND n.state = 'active' AND o.state = 'active';
