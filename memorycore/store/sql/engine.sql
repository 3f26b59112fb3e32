-- What the database engine of this installation can do, tried on a database in memory.

-- name: try_full_text
CREATE VIRTUAL TABLE trial USING fts5 (tokens, tokenize = 'porter unicode61 remove_diacritics 2');

-- name: vec_version
SELECT vec_version();

-- name: all_jobs
SELECT count(*) FILTER (WHERE dead = 0), count(*) FILTER (WHERE dead = 1) FROM job;
