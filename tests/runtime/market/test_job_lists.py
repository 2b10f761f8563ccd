"""Lists of jobs cost what they show, however many other jobs there are."""

from earnest.effects.ground.storage.reader import BooksReader

from .conftest import Town


def test_the_jobs_of_a_rare_category_are_found_by_an_index_that_is_in_order(town: Town) -> None:
    def plan(reader: BooksReader) -> list[str]:
        asked = "SELECT * FROM jobs WHERE state = ? AND category = ? ORDER BY id DESC LIMIT ?"
        return [str(row[-1]) for row in reader.execute(f"EXPLAIN QUERY PLAN {asked}", ("open", "translation", 50))]

    (step,) = town.database.read_sync(plan)
    assert "jobs_by_state_category_id" in step
