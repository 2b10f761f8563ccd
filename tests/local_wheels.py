"""A package index that is a folder: wheels made on the spot, and installers that look nowhere else."""

import zipfile
from pathlib import Path

import pytest


def only_wheels(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`folder` with the wheel of `greetings` 1.0, from which uv and pip install and from nowhere else."""
    folder.mkdir()
    write_wheel(folder, "greetings", "1.0", "def greet():\n    return 'hello'\n\ndef main():\n    print(greet())\n")
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(folder)}.items():
        for program in ("UV", "PIP"):
            monkeypatch.setenv(f"{program}_{name}", value)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(folder.parent / "uv-cache"))
    return folder


def write_wheel(folder: Path, name: str, version: str, code: str) -> None:
    """A wheel with one module, whose function `main` is the script `greet`."""
    about = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": code,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": f"[console_scripts]\ngreet = {name}:main\n",
    }
    files[f"{about}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{about}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
