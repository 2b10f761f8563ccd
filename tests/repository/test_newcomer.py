"""A newcomer: an ordinary user with an empty home, the wheel and the examples, who types what the pages say."""

import http.cookiejar
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ordinary_user import ORDINARY, reachable_interpreter

from .screens import GivenFile, Scene, script, told_as_shown
from .source import ROOT

SERVE = "earnest serve"
CLAIM = re.compile(r"http://\S+/claim/\S+")
SETUP = re.compile(r"http://\S+/setup/\S+")
SKIPPED = {
    "make": "needs the tree: .ci/run begins with it",
    "pip": "the wheel is installed already",
    "PATH=": "it is already",
    "earnest simulate": "takes minutes, and has tests of its own",
}
"""How lines begin that a newcomer does not type here."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # a wheel, a platform, two dozen commands


@dataclass
class Newcomer:
    """One user with a folder, a shell and a browser. `url` is where the platform that they began listens."""

    place: Path
    environment: dict[str, str]
    user: int
    url: str = ""
    server: subprocess.Popen[str] | None = None
    folder: Path = field(init=False)
    browser: urllib.request.OpenerDirector = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.place
        self.browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def type(self, line: str) -> str:
        """What a line prints. It must end with 0 unless the page shows what it prints; `cd` stays in force."""
        where = self.folder / ".where"
        done = subprocess.run(
            ["sh", "-c", f"{line}\nended=$?; pwd > '{where}'; exit $ended"],
            cwd=self.folder,
            env=self.environment,
            user=self.user,
            group=self.user,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        self.folder, told = Path(where.read_text(encoding="utf-8").strip()), done.stdout + done.stderr
        where.unlink()
        if found := CLAIM.search(told):
            self._confirm(found[0])
        return told if done.returncode == 0 else f"{told}[{done.returncode}]"

    def serve(self, line: str) -> None:
        """Begin a platform, as in a second terminal, and open the link that it prints."""
        self.server = subprocess.Popen(
            ["sh", "-c", f"exec {line} --port 0"],
            cwd=self.place,
            env=self.environment,
            user=self.user,
            group=self.user,
            extra_groups=[],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.server.stdout is not None
        told = ""
        for printed in self.server.stdout:
            told += printed
            if found := SETUP.search(printed):
                break
        else:
            pytest.fail(told)
        self.url = found[0].partition("/setup/")[0]
        self.environment["EARNEST_URL"] = self.url
        assert b"Done" in self.browser.open(found[0], data=b"handle=olga").read()

    def _confirm(self, link: str) -> None:
        """Press the button of the page that asks whose the agent is."""
        if self.url and link.startswith(self.url):
            headers = {"Origin": self.url, "Sec-Fetch-Site": "same-origin"}
            assert b"is yours" in self.browser.open(urllib.request.Request(link, b"", headers)).read()

    def follow(self, document: Path) -> int:
        """Do what the document says, from the top; how many lines were typed."""
        typed = 0
        for part in script(document):
            match part:
                case GivenFile(name=name, text=text):
                    self.write(self.folder / name, text)
                case Scene(typed=line) if any(line.startswith(beginning) for beginning in SKIPPED):
                    continue
                case Scene(typed=line) if line.startswith(SERVE):
                    self.serve(line.partition("#")[0].strip())
                case Scene(typed=line, shown=shown):
                    told = self.type(line.replace("http://127.0.0.1:8420", self.url))
                    if shown is None:
                        assert not re.search(r"\[\d+\]$", told), f"$ {line}\n{told}"
                    else:
                        self._compare(line, told, shown)
                    typed += 1
        return typed

    def _compare(self, line: str, told: str, shown: tuple[str, ...]) -> None:
        plain = re.sub(r"\[\d+\]$", "", told).replace(f"{self.place}/.earnest", "~/.earnest")
        wrong = told_as_shown(plain.replace(str(self.place), "~/earnest"), shown)
        assert not wrong, f"$ {line}\n{wrong}"

    def write(self, path: Path, text: str) -> None:
        """A file of theirs."""
        path.write_text(text, encoding="utf-8")
        os.chown(path, self.user, self.user)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The wheel, built and installed where everybody can read it; what it depends on comes from this environment."""
    folder = Path(tempfile.mkdtemp(prefix="wheel-"))
    folder.chmod(0o755)
    built = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(built)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = built.glob("*.whl")
    uv = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet", "--offline", "--no-deps", "--target"]
    python = ["--python", reachable_interpreter() if os.geteuid() == 0 else sys.executable]
    subprocess.run([*uv, str(folder), *python, str(wheel)], check=True, capture_output=True)
    (folder / "bin" / "python").symlink_to(python[1])  # as in an environment that is active
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def newcomer(installed: Path) -> Iterator[Newcomer]:
    user = ORDINARY if os.geteuid() == 0 else os.geteuid()
    place = Path(tempfile.mkdtemp(prefix="newcomer-"))
    shutil.copytree(ROOT / "examples", place / "examples")
    for path in (place, *place.rglob("*")):
        os.chown(path, user, user)
    packages = [path for path in sys.path if path.endswith("site-packages")]
    environment = {
        "HOME": str(place),
        "PATH": f"{installed / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join([str(installed), *packages]),
        "LANG": "C.UTF-8",
    }
    found = Newcomer(place=place, environment=environment, user=user)
    try:
        yield found
    finally:
        if found.server is not None:
            found.server.terminate()
            found.server.communicate(timeout=30)
        shutil.rmtree(place)


def test_the_wheel_alone_is_used(newcomer: Newcomer, installed: Path) -> None:
    where = newcomer.type("python3 -c 'import earnest; print(earnest.__file__)'")
    assert where.startswith(str(installed)), where


@pytest.mark.parametrize(("page", "at_least"), [("README.md", 8), ("docs/start.md", 16), ("docs/gallery.md", 15)])
def test_what_a_page_says_can_be_typed_and_prints_what_it_shows(page: str, at_least: int, newcomer: Newcomer) -> None:
    assert newcomer.follow(ROOT / page) >= at_least
