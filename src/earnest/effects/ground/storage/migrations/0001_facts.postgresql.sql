-- A fact follows the last one and stays as it is.

CREATE FUNCTION facts_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.seq IS DISTINCT FROM (SELECT coalesce(max(seq), 0) + 1 FROM facts) THEN
        RAISE EXCEPTION 'a fact follows the last one';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION facts_unchanged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a fact never changes';
END $$;

CREATE FUNCTION facts_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a fact is never deleted';
END $$;

CREATE TRIGGER facts_in_order BEFORE INSERT ON facts FOR EACH ROW EXECUTE FUNCTION facts_in_order();
CREATE TRIGGER facts_unchanged BEFORE UPDATE ON facts FOR EACH ROW EXECUTE FUNCTION facts_unchanged();
CREATE TRIGGER facts_kept BEFORE DELETE ON facts FOR EACH ROW EXECUTE FUNCTION facts_kept();
CREATE TRIGGER facts_not_emptied BEFORE TRUNCATE ON facts FOR EACH STATEMENT EXECUTE FUNCTION facts_kept();
