"""Does the page of threats name every test of them?"""

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "threats.md"


def test_every_file_of_tests_here_stands_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = [path.name for path in Path(__file__).parent.glob("test_*.py") if path.name not in text]
    assert missing == [Path(__file__).name]
