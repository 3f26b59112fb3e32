-- What a language model said of one memory, so that it is not asked the same again and again.

-- `question`: shorten | needed. `version` is that of the row that was asked about: another wording is another question.
-- Nothing of any text stands here. `attempts` failed in a row; before `not_before` nobody tries again.
CREATE TABLE model_opinion (
    memory_seq INTEGER NOT NULL REFERENCES memory (seq) ON DELETE CASCADE,
    question   TEXT NOT NULL,
    namespace  TEXT NOT NULL,
    version    INTEGER NOT NULL,
    answer     TEXT NOT NULL,
    at         INTEGER NOT NULL,
    attempts   INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (memory_seq, question)
) STRICT, WITHOUT ROWID;
