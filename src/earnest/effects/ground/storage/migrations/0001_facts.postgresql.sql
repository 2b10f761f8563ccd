-- A fact follows the last one and stays as it is.

CREATE FUNCTION facts_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (
        SELECT max(seq) - min(seq) + 1 <> count(*)
        OR min(seq) <> coalesce((SELECT max(seq) FROM facts WHERE seq < (SELECT min(seq) FROM added)), 0) + 1
        OR max(seq) <> (SELECT max(seq) FROM facts)
        FROM added
    ) THEN
        RAISE EXCEPTION 'a fact follows the last one';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION facts_unchanged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a fact never changes';
END $$;

CREATE FUNCTION facts_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a fact is never deleted';
END $$;

CREATE TRIGGER facts_in_order AFTER INSERT ON facts REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION facts_in_order();
CREATE TRIGGER facts_unchanged BEFORE UPDATE ON facts FOR EACH ROW EXECUTE FUNCTION facts_unchanged();
CREATE TRIGGER facts_kept BEFORE DELETE ON facts FOR EACH ROW EXECUTE FUNCTION facts_kept();
CREATE TRIGGER facts_not_emptied BEFORE TRUNCATE ON facts FOR EACH STATEMENT EXECUTE FUNCTION facts_kept();
