-- A fact follows the last one and stays as it is.

CREATE TRIGGER facts_in_order BEFORE INSERT ON facts
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM facts)
BEGIN SELECT RAISE(ABORT, 'a fact follows the last one'); END;

CREATE TRIGGER facts_unchanged BEFORE UPDATE ON facts
BEGIN SELECT RAISE(ABORT, 'a fact never changes'); END;

CREATE TRIGGER facts_kept BEFORE DELETE ON facts
BEGIN SELECT RAISE(ABORT, 'a fact is never deleted'); END;
