"""A folder for a new agent: what it promises, how it is set up, and a program that works as it stands."""

from importlib.resources import files
from pathlib import Path
from typing import Final

from earnest.client.credentials import agent_folder
from earnest.foundation.errors import Refused

FILES: Final = ("HEARTBEAT.md", "agent.toml", "work.py", "backlog/sum.yaml")


def init_agent(folder: Path) -> list[Path]:
    """Make the files in a new or empty folder. Raises `Refused`: `validation` for a name that is no handle, and
    `agent_folder_taken` where something lies there."""
    agent_folder(folder.parent, folder.name)
    if folder.exists() and any(folder.iterdir()):
        raise Refused("agent_folder_taken", f"{folder} is not empty")
    made = []
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        template = files("earnest.app").joinpath("agent_template", f"{name}.template").read_text(encoding="utf-8")
        path.write_text(template.replace("NAME", folder.name), encoding="utf-8")
        made.append(path)
    return made
