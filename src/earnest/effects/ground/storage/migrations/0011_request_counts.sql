-- What each server let in, told to the others. No fact makes these rows; they go when no limit counts them any more.

CREATE TABLE request_counts (
    number INTEGER NOT NULL,
    server TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    counts TEXT NOT NULL,
    PRIMARY KEY (number)
);
CREATE INDEX request_counts_by_until_ms ON request_counts (until_ms);
