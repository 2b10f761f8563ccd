"""Is agent.toml read whole, are its faults named with their lines, and does what `init` makes hold?"""

from pathlib import Path

import pytest

from earnest.agents.state import AgentRole
from earnest.app.agent_settings import FILES, AgentSettings, Searching, init_agent, read_agent_settings
from earnest.app.command_words import words_of
from earnest.app.residing import with_graph
from earnest.foundation.errors import Faulty, Refused


def test_a_folder_without_a_file_has_the_defaults(tmp_path: Path) -> None:
    assert read_agent_settings(tmp_path) == AgentSettings()


def test_what_init_makes_is_read(tmp_path: Path) -> None:
    made = init_agent(tmp_path / "ann")
    assert [path.relative_to(tmp_path / "ann").as_posix() for path in made] == list(FILES)
    settings = read_agent_settings(tmp_path / "ann")
    assert settings.role is AgentRole.EXECUTOR
    (entry,) = settings.backlog
    assert entry.offer().body["title"] == "Add up"
    assert entry.amount_micro == 1_000_000
    compile((tmp_path / "ann" / "work.py").read_text(), "work.py", "exec")
    with pytest.raises(Refused, match="not empty"):
        init_agent(tmp_path / "ann")
    with pytest.raises(Refused, match="no handle"):
        init_agent(tmp_path / "No Handle")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('role = "boss"', ":1: role is 'boss'"),
        ("\nevery_s = 0", ":2: every_s is 0"),
        ("colour = 1", "there is no 'colour'"),
        ("skills = 1", "skills must be tables"),
        ('[[skills]]\ntitle = "("\nexec = "x"', "title is no pattern"),
        ('[[skills]]\nexec = "x"\nplaybook = "y"', "exec or playbook"),
        ('[[skills]]\nplaybook = "nothing.yaml"', "there is no playbook"),
        ('[[backlog]]\npath = "x"\ncategory = "y"\namount = "much"', "is no amount"),
        ('[[backlog]]\npath = "x"\nprice = "y"', "price is not one of"),
        ('checkpoints = "mysql://x"', "postgresql://"),
        ("role = ", "not TOML"),
    ],
)
def test_faults_are_named_with_their_lines(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "agent.toml").write_text(text)
    with pytest.raises(Faulty, match=r"agent\.toml") as faulty:
        read_agent_settings(tmp_path)
    assert complaint in str(faulty.value)


def test_a_command_names_files_of_the_agents_folder(tmp_path: Path) -> None:
    (tmp_path / "work.py").touch()
    assert words_of("python3 work.py 'a b' other.py", tmp_path) == [
        "python3",
        str(tmp_path / "work.py"),
        "a b",
        "other.py",
    ]
    with pytest.raises(Refused):
        words_of("  ")
    with pytest.raises(Refused):
        words_of("'")


def test_langgraph_is_used_unless_somebody_says_no() -> None:
    assert with_graph({})
    assert with_graph({"USE_LANGGRAPH": "1"})
    assert not with_graph({"USE_LANGGRAPH": "0"})
    with pytest.raises(Refused):
        with_graph({"USE_LANGGRAPH": "maybe"})
    assert with_graph({}, address="postgresql://localhost/x")
    with pytest.raises(Refused, match="agents-postgresql"):
        with_graph({"USE_LANGGRAPH": "0"}, address="postgresql://localhost/x")


def test_an_entry_may_be_a_folder_and_what_is_searched_for_is_said(tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    for name in ("b.yaml", "a.yaml", "notes.txt"):
        (tmp_path / "library" / name).touch()
    (tmp_path / "agent.toml").write_text(
        '[[backlog]]\npath = "library"\ncategory = "data"\namount = "1"\ntimes = 2\n'
        '[discovery]\ntopics = ["kettles"]\namount = "2.50"\n'
    )
    settings = read_agent_settings(tmp_path)
    assert [(one.name, one.times) for one in settings.backlog] == [("library/a.yaml", 2), ("library/b.yaml", 2)]
    assert settings.discovery == Searching(topics=("kettles",), amount_micro=2_500_000)
    for text, complaint in (
        ('[[backlog]]\npath = "."\ncategory = "x"\namount = "1"', "no specification or playbook"),
        ("[discovery]\ntopics = 1", "amount and topics"),
        ('[discovery]\ntopics = ["a\\nb"]', "amount and topics"),
        ('[discovery]\namount = "-1"', "is no amount"),
        ('[discovery]\nhosts = ["evil.org"]', "amount and topics"),
    ):
        (tmp_path / "agent.toml").write_text(text)
        with pytest.raises(Faulty, match=complaint):
            read_agent_settings(tmp_path)
