-- Statements on what a language model said of single memories.

-- name: opinions
SELECT memory_seq, version, answer, at, attempts, not_before FROM model_opinion
WHERE namespace = :namespace AND question = :question AND memory_seq IN (SELECT value FROM json_each(:seqs));

-- name: put_opinion
INSERT INTO model_opinion (memory_seq, question, namespace, version, answer, at, attempts, not_before)
VALUES (:seq, :question, :namespace, :version, :answer, :at, :attempts, :not_before)
ON CONFLICT (memory_seq, question) DO UPDATE SET
    version = excluded.version, answer = excluded.answer, at = excluded.at, attempts = excluded.attempts,
    not_before = excluded.not_before;
