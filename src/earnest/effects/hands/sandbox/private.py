"""Places of a person's home that nobody gets to see, although the home itself is shown."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from earnest.effects.hands.sandbox.host import Host

PRIVATE: Final = (
    # keys
    ".age",
    ".config/age",
    ".config/sops",
    ".gnupg",
    ".local/share/gnupg",
    ".minisign",
    ".pki",
    ".ssh",
    # credentials
    ".aws",
    ".azure",
    ".boto",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/anthropic",
    ".config/containers/auth.json",
    ".config/doctl",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/glab-cli",
    ".config/hub",
    ".config/openai",
    ".config/pip",
    ".config/rclone",
    ".config/uv",
    ".databrickscfg",
    ".docker",
    ".gem/credentials",
    ".git-credentials",
    ".huggingface",
    ".cache/huggingface/token",
    ".kaggle",
    ".kube",
    ".local/share/uv/credentials",
    ".m2/settings.xml",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".oci",
    ".pgpass",
    ".pip",
    ".pypirc",
    ".s3cfg",
    ".terraform.d",
    ".terraformrc",
    ".vault-token",
    ".yarnrc.yml",
    # wallets
    ".bitcoin",
    ".config/1Password",
    ".config/Bitwarden",
    ".config/keybase",
    ".config/op",
    ".electrum",
    ".ethereum",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".password-store",
    # browsers and mail
    ".config/BraveSoftware",
    ".config/chromium",
    ".config/google-chrome",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".mozilla",
    ".thunderbird",
    "snap/chromium",
    "snap/firefox",
    ".var/app/com.google.Chrome",
    ".var/app/org.mozilla.firefox",
    # histories
    ".bash_history",
    ".local/share/fish/fish_history",
    ".mysql_history",
    ".node_repl_history",
    ".psql_history",
    ".python_history",
    ".zsh_history",
)


def private_places(home: Path, more: Iterable[Path] = ()) -> tuple[Path, ...]:
    """What exists of `PRIVATE` below `home`, and of `more`: links followed, outermost only, in order."""
    places: set[Path] = set()
    there = (Path(place) for place in (f"{home}/{name}" for name in PRIVATE) if os.path.lexists(place))  # most are not
    for place in (*there, *more):
        with suppress(OSError, RuntimeError):
            places.add(place.resolve(strict=True))
    return tuple(place for place in sorted(places) if not places.intersection(place.parents))


def system_masks(host: Host, places: Iterable[Path]) -> tuple[tuple[Path, bool], ...]:
    """What of `places` must be hidden in the folders that every sandbox shows: (place, is it a folder).

    What nothing runs without, and what no stranger can get to, is left out.
    """
    below: set[Path] = set()
    for place in places:
        with suppress(OSError, RuntimeError):
            found = place.resolve(strict=True)
            root = next((root for root in host.shown if root in found.parents), None)
            needed = any(one.is_relative_to(found) for one in host.needed)
            if root and not needed and _is_open(found, root):
                below.add(found)
    return tuple((place, place.is_dir()) for place in sorted(below) if not below.intersection(place.parents))


def _is_open(place: Path, root: Path) -> bool:
    """True if the sandbox's user gets as far as `place`: as root, what everybody may."""
    folders = [folder for folder in place.parents if root in folder.parents]
    if os.geteuid() == 0:
        return all(folder.stat().st_mode & 0o001 for folder in folders)
    return all(os.access(folder, os.X_OK) for folder in folders)


def masks(source: Path, target: Path, places: Iterable[Path]) -> tuple[tuple[Path, bool], ...]:
    """What must be hidden when `source`, a resolved path, is shown at `target`: (place inside, is it a folder)."""
    below = (place for place in places if place != source and place.is_relative_to(source))
    return tuple((target / place.relative_to(source), place.is_dir()) for place in below)
