-- Who works at what among all processes, and until when. No fact makes these rows.

CREATE TABLE leases (
    id TEXT NOT NULL,
    holder TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX leases_by_holder ON leases (holder);
CREATE INDEX leases_by_until_ms ON leases (until_ms);
