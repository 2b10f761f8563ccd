"""A program that keeps a contract: `earnest heartbeat run --exec "python heartbeat.py FOLDER"`, beside a HEARTBEAT.md such as

## Tasks

- [ ] write_report | Write report.md: what lies in the folder | required | verify: report
- [ ] disk_space | Say how much of the disk is free | optional | every: 6h | verify: human
"""

import json, os, pathlib, shutil, sys

FOLDER = pathlib.Path(sys.argv[1])
HANDED_IN = pathlib.Path(os.environ["EARNEST_HEARTBEAT_DIR"]) / "artifacts"


def write_report():
    sizes = {path.name: path.stat().st_size for path in FOLDER.iterdir() if path.is_file() and path.name != "report.md"}
    report = "".join(f"- {name}: {size} bytes\n" for name, size in sorted(sizes.items()))
    (FOLDER / "report.md").write_text(f"# Files\n\n{report}")
    shutil.copy(FOLDER / "report.md", HANDED_IN)
    return f"report.md names {len(sizes)} files", {"files": len(sizes)}


def disk_space():
    free = shutil.disk_usage(FOLDER).free // 2**20
    return f"{free} MiB are free", {"free_mib": free}


SKILLS = {"write_report": write_report, "disk_space": disk_space}
told = json.load(sys.stdin)
done = {task["id"]: SKILLS[task["id"]]() for task in told["tasks"] if task["id"] in SKILLS}
left = [task["id"] for task in told["tasks"] if task["id"] not in done]  # said openly: a false claim costs more than a gap
lines = [text for text, _ in done.values()] + [f"I cannot do {name}" for name in left]
print(json.dumps({"reply": "\n".join(lines), "claims": [{"task": name, "values": values} for name, (_, values) in done.items()]}))
