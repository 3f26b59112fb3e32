-- Statements on vectors and on the jobs that make them.

-- name: upsert_fingerprint
INSERT INTO fingerprint (name, width) VALUES (:name, :width) ON CONFLICT (name) DO NOTHING;

-- name: fingerprint
SELECT id, width FROM fingerprint WHERE name = :name;

-- name: insert_embedding
INSERT INTO embedding (memory_seq, part, fingerprint_id, text_hash, vector)
VALUES (:seq, :part, :fingerprint_id, :text_hash, :vector)
ON CONFLICT (memory_seq, fingerprint_id, part) DO NOTHING;

-- name: delete_embeddings
DELETE FROM embedding WHERE memory_seq = :seq;

-- name: embeddings_by_text
SELECT e.part, e.vector FROM embedding e
WHERE e.memory_seq = (
    SELECT memory_seq FROM embedding WHERE text_hash = :text_hash AND fingerprint_id = :fingerprint_id LIMIT 1
) AND e.fingerprint_id = :fingerprint_id AND e.text_hash = :text_hash
ORDER BY e.part;

-- name: count_vectors
SELECT count(DISTINCT e.memory_seq) FROM embedding e JOIN memory m ON m.seq = e.memory_seq
WHERE e.fingerprint_id = :fingerprint_id AND m.state = 'active'
  AND m.namespace IN (SELECT value FROM json_each(:namespaces));

-- name: any_without_vector (all namespaces: vectors are made for whoever waits; the text goes to the model only)
SELECT 1 FROM memory m
WHERE m.state = 'active'
  AND NOT EXISTS (SELECT 1 FROM embedding e WHERE e.memory_seq = m.seq AND e.fingerprint_id = :fingerprint_id)
  AND NOT EXISTS (SELECT 1 FROM job j WHERE j.memory_seq = m.seq AND j.kind = :kind)
LIMIT 1;

-- name: count_without_vector (all namespaces: only the count leaves)
SELECT count(*) FROM memory m
WHERE m.state = 'active'
  AND NOT EXISTS (SELECT 1 FROM embedding e WHERE e.memory_seq = m.seq AND e.fingerprint_id = :fingerprint_id);

-- name: queue_without_vector (all namespaces: each job carries the namespace of its memory)
INSERT INTO job (kind, namespace, subject, memory_seq, priority, not_before)
SELECT :kind, m.namespace, m.seq, m.seq, :priority, :now FROM memory m
WHERE m.state = 'active'
  AND NOT EXISTS (SELECT 1 FROM embedding e WHERE e.memory_seq = m.seq AND e.fingerprint_id = :fingerprint_id)
ON CONFLICT (kind, namespace, subject) DO NOTHING;

-- name: texts_to_embed (all namespaces: vectors are made for whoever waits; the text goes to the model only)
SELECT m.seq, m.content FROM memory m
WHERE m.seq IN (SELECT value FROM json_each(:seqs)) AND m.state IN ('active', 'trashed');

-- name: still_to_embed (all namespaces: compares the text that the job was taken with)
SELECT 1 FROM memory m WHERE m.seq = :seq AND m.state IN ('active', 'trashed') AND m.content = :content;

-- name: count_jobs_of_kind
SELECT count(*) FILTER (WHERE dead = 0), count(*) FILTER (WHERE dead = 1) FROM job
WHERE kind = :kind AND priority < 5 AND namespace IN (SELECT value FROM json_each(:namespaces));

-- name: finish_job
DELETE FROM job WHERE kind = :kind AND memory_seq = :seq;

-- name: count_cold_vectors
SELECT count(DISTINCT e.memory_seq) FROM embedding e JOIN memory m ON m.seq = e.memory_seq
WHERE m.namespace = :namespace AND m.state = 'active' AND m.residence <> 'hot';

-- name: vector_state
SELECT count(*), (SELECT f.name FROM embedding e JOIN fingerprint f ON f.id = e.fingerprint_id WHERE e.memory_seq = :seq LIMIT 1),
    (SELECT last_error FROM job WHERE kind = :kind AND memory_seq = :seq), (SELECT dead FROM job WHERE kind = :kind AND memory_seq = :seq)
FROM embedding WHERE memory_seq = :seq;

-- name: due_judgements
SELECT j.memory_seq FROM job j JOIN memory m ON m.seq = j.memory_seq
WHERE j.kind = :kind AND m.state = 'active' AND m.namespace = :namespace
  AND EXISTS (SELECT 1 FROM embedding e WHERE e.memory_seq = j.memory_seq AND e.fingerprint_id = :fingerprint_id)
ORDER BY j.memory_seq LIMIT :limit;

-- name: drop_dead_judgements (all namespaces: what is gone is judged no more)
DELETE FROM job WHERE kind = :kind AND memory_seq IN (SELECT seq FROM memory WHERE state <> 'active');
