-- The log of facts. The triggers that keep it as it is stand in a file for each engine.

CREATE TABLE facts (
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    body BLOB NOT NULL,
    leaf BLOB NOT NULL CHECK (length(leaf) = 32),
    PRIMARY KEY (seq)
);
CREATE INDEX facts_by_kind ON facts (kind, seq);
CREATE INDEX facts_by_subject ON facts (subject, seq);
