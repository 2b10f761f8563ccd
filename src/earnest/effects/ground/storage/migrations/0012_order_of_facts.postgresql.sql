-- Facts follow each other: looked at once for each statement that adds some, not once for each fact.

DROP TRIGGER facts_in_order ON facts;
CREATE OR REPLACE FUNCTION facts_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER facts_in_order AFTER INSERT ON facts REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION facts_in_order();
