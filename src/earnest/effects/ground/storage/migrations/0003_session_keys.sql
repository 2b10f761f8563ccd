-- A session knows the key that opened it. Those that are there know of none, and are over.

ALTER TABLE sessions ADD COLUMN key_id TEXT;
