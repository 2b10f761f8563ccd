-- Memory, where it lies on the server of the books. A projection of facts: it can be made anew from them.
CREATE TABLE memory_rows (
    store TEXT NOT NULL,
    key BLOB NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (store, key)
);
