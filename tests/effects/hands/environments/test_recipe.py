"""What a requirements file or a pyproject.toml asks for, and what is not taken from them."""

import pytest

from earnest.effects.hands.environments.recipe import of_pyproject, of_requirements
from earnest.foundation.errors import Faulty

HASH = f"--hash=sha256:{'0' * 64}"


def faults(text: str) -> list[str]:
    with pytest.raises(Faulty) as faulty:
        of_requirements(text.encode(), "r.txt")
    return [str(one) for one in faulty.value.diagnostics]


def test_comments_blank_lines_and_line_ends_are_not_part_of_a_recipe() -> None:
    text = "# tools\n\npytest>=8  # to test\niniconfig \\\n  ==2.3.1\n"
    recipe = of_requirements(text.encode(), "r.txt")
    assert recipe.lines == ("pytest>=8", "iniconfig   ==2.3.1")
    assert not recipe.hashed


def test_hashes_are_kept_as_pip_compile_writes_them() -> None:
    recipe = of_requirements(f"pytest==9 ; python_version > '3' \\\n    {HASH} \\\n    {HASH}\n".encode(), "r.txt")
    assert recipe.hashed
    assert recipe.lines == (f"pytest==9 ; python_version > '3' {HASH} {HASH}",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n-r other.txt\n", "r.txt:2: the option -r is not taken"),
        ("--no-deps\n", "r.txt:1: the option --no-deps is not taken"),
        ("-e .\n", "r.txt:1: the option -e is not taken"),
        ("a @ https://packages.example/a\n", "a package is taken by name"),
        ("./a.whl\n", "r.txt:1: './a.whl' is no requirement"),
        ("pytest=8\n", "r.txt:1: 'pytest=8' is no requirement"),
        ("", "names 0 packages"),
        (f"a==1 {HASH}\nb==1\n", "b==1 has none"),
    ],
)
def test_what_is_no_requirement_is_named_with_its_line(text: str, said: str) -> None:
    assert said in faults(text)[0]


def test_all_faults_are_named_at_once() -> None:
    assert len(faults("-e .\npytest=8\n")) == 2


def test_a_pyproject_gives_its_dependencies_and_those_of_one_extra() -> None:
    text = b'[project]\ndependencies = ["a>=1"]\n[project.optional-dependencies]\nDev_Tools = ["b"]\n'
    assert of_pyproject(text, "", "p.toml").lines == ("a>=1",)
    assert of_pyproject(text, "dev-tools", "p.toml").lines == ("a>=1", "b")
    with pytest.raises(Faulty, match="there is no extra 'test'; it has dev-tools"):
        of_pyproject(text, "test", "p.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[project", "not TOML"),
        ('[project]\ndynamic = ["dependencies"]\n', "dynamic"),
        ("[tool]\n", "names 0 packages"),
        ('[project]\ndependencies = ["a @ file:///a"]\n', "taken by name"),
        ("[project]\ndependencies = [1]\n", "must be text"),
    ],
)
def test_a_pyproject_that_does_not_say_is_faulty(text: str, said: str) -> None:
    with pytest.raises(Faulty, match=said):
        of_pyproject(text.encode(), "", "p.toml")


def test_the_digest_is_that_of_what_is_asked_for() -> None:
    one, same = (of_requirements(text, "r.txt").digest for text in (b"a\nb\n", b"# more\na\n\nb\n"))
    assert one == same != of_requirements(b"b\na\n", "r.txt").digest
