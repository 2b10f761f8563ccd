-- Periods, and the world that agents move in.

CREATE TABLE periods (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    first_fact INTEGER NOT NULL,
    opened_at_ms INTEGER NOT NULL,
    last_fact INTEGER,
    ended_at_ms INTEGER,
    PRIMARY KEY (id)
);
CREATE UNIQUE INDEX periods_by_name ON periods (name);

CREATE TABLE posts (
    id TEXT NOT NULL,
    thread TEXT NOT NULL,
    account_id TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX posts_by_account_id_at_ms ON posts (account_id, at_ms);
CREATE INDEX posts_by_thread_id ON posts (thread, id);

CREATE TABLE remarks (
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    reach TEXT NOT NULL,
    text TEXT NOT NULL,
    x INTEGER NOT NULL,
    y INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    heard_by TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX remarks_by_account_id_at_ms ON remarks (account_id, at_ms);

CREATE TABLE residents (
    id TEXT NOT NULL,
    from_x INTEGER NOT NULL,
    from_y INTEGER NOT NULL,
    to_x INTEGER NOT NULL,
    to_y INTEGER NOT NULL,
    place TEXT NOT NULL,
    set_out_ms INTEGER NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX residents_by_set_out_ms ON residents (set_out_ms);
