"""What lies in `deploy/`: it parses, and names only commands, options, settings, extras and files that there are."""

import ast
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from earnest.app.settings import read_settings
from earnest.surfaces.cli.commands import program

from .settings_reference import HEAD, PAGE, UNSET, reference

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
YAMLS = sorted(path for path in DEPLOY.rglob("*.yaml"))
UNITS = sorted(DEPLOY.glob("*.service"))


def documents(path: Path) -> list[Any]:
    return [one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one is not None]


def every(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """All values with the key that they stand under."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield str(name), one
            yield from every(one, str(name))
    elif isinstance(value, list):
        for one in value:
            yield from every(one, key)


def texts() -> Iterator[tuple[str, str]]:
    for path in (*YAMLS, *UNITS, *DEPLOY.rglob("*.env.example"), DEPLOY / "Dockerfile"):
        lines = path.read_text(encoding="utf-8").splitlines()
        yield (
            path.name,
            "\n".join(line.partition("#")[0] if path.suffix != ".example" else line.lstrip("#") for line in lines),
        )


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every line that begins `earnest`, as words."""
    for path in YAMLS:
        for document in documents(path):
            for key, value in every(document):
                if key in {"command", "args"} and isinstance(value, list) and value[:1] == ["earnest"]:
                    yield path.name, [str(word) for word in value[1:]]
    for path in UNITS:
        for line in re.findall(r"^ExecStart=/opt/earnest/bin/earnest (.*)$", path.read_text(encoding="utf-8"), re.M):
            yield path.name, shlex.split(line)
    (line,) = re.findall(r"^CMD (\[.*\])$", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), re.M)
    yield "Dockerfile", ast.literal_eval(line)[1:]


def test_there_are_files_for_compose_kubernetes_and_systemd() -> None:
    names = {str(path.relative_to(DEPLOY)) for path in (*YAMLS, *UNITS)}
    assert {
        "compose.yaml",
        "kubernetes/kustomization.yaml",
        "kubernetes/servers.yaml",
        "earnest-worker.service",
    } <= names


def test_every_command_and_option_is_one_of_ours() -> None:
    known = click.Context(program)
    found = list(commands())
    assert len(found) > 8
    for place, (name, *words) in found:
        command = program.get_command(known, name)
        assert command is not None, (place, name)
        options = {option for one in command.params for option in one.opts}
        unknown = {word.partition("=")[0] for word in words if word.startswith("--")} - options
        assert not unknown, (place, name, unknown)


def test_every_variable_is_one_that_a_page_explains() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    own = {"EARNEST_DB_PASSWORD", "EARNEST_BUS_ENGINE", "EARNEST_BUS_AUDITOR", "EARNEST_HOST"}
    used = {(place, name) for place, text in texts() for name in re.findall(r"\bEARNEST_[A-Z_]+\b", text)}
    assert len({name for _, name in used}) > 5
    assert [one for one in used if f"`{one[1]}`" not in page and one[1] not in own] == []


def test_every_extra_of_the_image_is_one_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r'pip install.*"\.\[([a-z0-9,]+)\]"', (DEPLOY / "Dockerfile").read_text(encoding="utf-8"))
    assert {"server", "postgresql", "s3"} <= set(extras.split(","))
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()


def test_every_file_that_is_mounted_or_listed_is_there() -> None:
    compose = documents(DEPLOY / "compose.yaml")[0]
    files = [
        line.split(":")[0] for one in compose["services"].values() for line in one.get("volumes", ()) if line[0] == "."
    ]
    (kustomization,) = documents(DEPLOY / "kubernetes" / "kustomization.yaml")
    assert len(files) >= 2
    assert [name for name in files if not (DEPLOY / name).exists()] == []
    assert all((DEPLOY / "kubernetes" / name).is_file() for name in kustomization["resources"])


def test_everything_in_compose_that_is_waited_for_is_there_and_can_be_healthy() -> None:
    services = documents(DEPLOY / "compose.yaml")[0]["services"]
    assert {"postgres", "nats", "proxy"} < services.keys()
    for one in services.values():
        for name, how in one.get("depends_on", {}).items():
            assert how["condition"] == "service_healthy"
            assert "healthcheck" in services[name]


def test_manifests_of_kubernetes_fit_together() -> None:
    (kustomization,) = documents(DEPLOY / "kubernetes" / "kustomization.yaml")
    found = [one for name in kustomization["resources"] for one in documents(DEPLOY / "kubernetes" / name)]
    for one in found:
        assert {"apiVersion", "kind", "metadata"} <= one.keys()
        assert one["metadata"]["name"]
    labels = [one["spec"]["template"]["metadata"]["labels"] for one in found if "template" in one.get("spec", {})]
    for one in found:
        wanted = one.get("spec", {}).get("selector", {})
        wanted = wanted.get("matchLabels", wanted)
        if wanted:
            assert any(wanted.items() <= each.items() for each in labels), one["metadata"]
    made = {one["name"] for one in (*kustomization["configMapGenerator"], *kustomization["secretGenerator"])}
    named = {
        value["name"]
        for one in found
        for key, value in every(one)
        if key in {"configMapRef", "secretRef", "secretKeyRef"} and isinstance(value, dict)
    }
    assert named <= made
    containers = [one for each in found for key, value in every(each) if key == "containers" for one in value]
    assert all({"resources", "image"} <= one.keys() for one in containers)
    assert all("readinessProbe" in one for one in containers if "ports" in one)


def test_images_have_a_version() -> None:
    images = [value for path in YAMLS for one in documents(path) for key, value in every(one) if key == "image"]
    assert len(images) >= 6
    assert [image for image in images if not re.search(r":[a-z0-9.-]*\d", image)] == []


def test_the_reference_of_settings_is_what_the_classes_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "tests/app/settings_reference.py writes it anew"


def test_the_reference_of_settings_is_a_file_that_is_read_and_changes_nothing(tmp_path: Path) -> None:
    text = reference().removeprefix(HEAD)
    set_ = re.sub(rf"^#([a-z_0-9]+ = (?!{UNSET}))", r"\1", text, flags=re.M)
    assert len(re.findall(r"^[a-z_0-9]+ = ", set_, re.M)) > 60
    (tmp_path / "settings.toml").write_text(set_, encoding="utf-8")
    unset = read_settings({"EARNEST_HOME": str(tmp_path / "none")})
    assert replace(read_settings({"EARNEST_HOME": str(tmp_path)}), home=unset.home) == unset


@pytest.mark.parametrize("path", YAMLS, ids=lambda path: path.name)
def test_no_secret_stands_in_a_file(path: Path) -> None:
    named = re.compile(r"(?i)password|secret_access|_key_id")
    given = [(key, value) for one in documents(path) for key, value in every(one) if named.search(key)]
    assert [one for one in given if isinstance(one[1], str) and not one[1].startswith("${")] == []
