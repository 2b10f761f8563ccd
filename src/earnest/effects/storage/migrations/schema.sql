-- What does a new database hold? The same as after every migration; a test compares the two.

CREATE TABLE facts (
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    body BLOB NOT NULL,
    leaf BLOB NOT NULL CHECK (length(leaf) = 32),
    PRIMARY KEY (seq)
) STRICT;

CREATE INDEX facts_by_kind ON facts (kind, seq);

CREATE INDEX facts_by_subject ON facts (subject, seq);

CREATE TRIGGER facts_in_order BEFORE INSERT ON facts
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM facts)
BEGIN SELECT RAISE(ABORT, 'a fact follows the last one'); END;

CREATE TRIGGER facts_unchanged BEFORE UPDATE ON facts
BEGIN SELECT RAISE(ABORT, 'a fact never changes'); END;

CREATE TRIGGER facts_kept BEFORE DELETE ON facts
BEGIN SELECT RAISE(ABORT, 'a fact is never deleted'); END;

CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

INSERT INTO alembic_version VALUES ('0001');
