"""Command lines as people and models write them, and what their output and files are worth; also a program.

Run by itself, it makes every call in the real sandbox as whoever runs it, and prints the records.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import Sandbox, SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.tools.api import ToolPlace
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.effects.hands.workspace.staging import Workspace

FILES: Final = {
    "a.py": "open('out', 'w').write('total %d\\n' % (40 + 2)); print('written', 2 + 1)\n",
    "bad.py": "import sys\nprint('4 passed', '1 failed')\nopen('report', 'w').write('4 passed\\n')\nsys.exit(3)\n",
    "late.py": "import sys, time\ntime.sleep(0.2)\nprint('4 passed')\nsys.exit(3)\n",
    "f": "one pear\ntwo plums\nthree pears\n",
    "b": "one pear\ntwo plums\n",
    "d/Makefile": "all:\n\t@wc -l ../f\nbad:\n\t@python3 ../bad.py\n",
    "run.sh": "set -e\npython3 a.py\nwc -l < out\n",
}


class Honest(NamedTuple):
    """A line, and what is quoted from its stdout, or from the file `path`."""

    line: str
    quote: str
    path: str = ""


HONEST: Final = (
    Honest("python3 a.py; cat out", "total 42"),
    Honest("python3 a.py; cat out", "total 42", "out"),
    Honest("cat > g <<'E'\nalpha beta\nE\nwc -w g", "2 g"),
    Honest("cat > g <<'E'\nalpha beta\nE\ncat g", "alpha beta"),
    Honest("diff f b; cat b", "two plums"),
    Honest("diff f b; cat b", "< three pears"),
    Honest("grep pear f || echo none", "three pears"),
    Honest("cd d && make; ls", "3 ../f"),
    Honest("cd d && make; ls", "Makefile"),
    Honest("test -f f && wc -l f", "3 f"),
    Honest('for x in f b; do wc -l "$x"; done', "2 b"),
    Honest("python3 a.py | tee log; tail -1 log", "written 3"),
    Honest("python3 a.py | tee log; tail -1 log", "written 3", "log"),
    Honest("seq 7 100000 | head -2", "8"),
    Honest("yes | head -3 | wc -l", "3"),
    Honest("find . -name '*.py' | sort", "./late.py"),
    Honest("find . -name f -exec wc -l {} \\;", "3 ./f"),
    Honest("find . -name f | xargs wc -w", "6 ./f"),
    Honest("timeout 20 python3 a.py", "written 3"),
    Honest("env LC_ALL=C sort -r f", "two plums"),
    Honest("mkdir -p o; python3 a.py > o/r; cat o/r", "written 3"),
    Honest("mkdir d; python3 a.py", "total 42", "out"),
    Honest('n=$(wc -l < f); echo "lines: $n"', "lines: 3"),
    Honest('cat f | while read x y; do echo "$y $x"; done', "pears three"),
    Honest("if grep -q plums f; then wc -l f; else echo no; fi", "3 f"),
    Honest("grep -c cherry f; wc -c f", "31 f"),
    Honest("cmp f b || diff f b | wc -l", "2"),
    Honest("bash -c 'cd d && make'", "3 ../f"),
    Honest("bash run.sh", "3"),
    Honest("set -e; python3 a.py; cat out", "total 42"),
    Honest("(cd d; make) && python3 a.py", "3 ../f"),
    Honest("{ python3 a.py; cat out; } 2>&1 | tail -1", "total 42"),
    Honest("sed -i s/pear/fig/ f && cat f", "three figs"),
    Honest("sed -i s/pear/fig/ f && cat f", "three figs", "f"),
    Honest("awk '{print $2}' f | sort | uniq -c", "1 plums"),
    Honest("awk '{n += 7} END {print n}' f", "21"),
    Honest("python3 <<'E'\nprint(sum(range(10)))\nE", "45"),
    Honest("comm -12 f b; sort f | head -1", "one pear"),
    Honest('test -n "$(python3 a.py)" && cat out', "total 42"),
    Honest("trap 'rm -f tmp' EXIT; python3 a.py > tmp; cat tmp", "written 3"),
    Honest("sleep 0.01 & python3 a.py; wait", "written 3"),
    Honest("! grep cherry f && cat b", "two plums"),
    Honest("nosuchprogram; wc -l f", "3 f"),
    Honest("python3 bad.py; wc -l f", "3 f"),
    Honest('python3 -c \'import subprocess; print(subprocess.check_output(["wc", "-l", "f"]).decode())\'', "3 f"),
    Honest("which python3 nosuchprogram || wc -l f", "3 f"),
)


class Disguise(NamedTuple):
    """A line that ends well, and words of its output, or of the file `path`, that prove nothing."""

    line: str
    quote: str = "4 passed"
    path: str = ""


DISGUISES: Final = (
  *(
    Disguise(line)
    for line in (
        "python3 bad.py; true",
        "python3 bad.py || true",
        "python3 bad.py || :",
        "trap 'exit 0' EXIT; python3 bad.py",
        "python3 late.py & sleep 0.5; wait; :",
        "(python3 bad.py; true)",
        "{ python3 bad.py; true; }",
        "! python3 bad.py",
        "if python3 bad.py; then :; fi",
        "while python3 bad.py; do :; done",
        "until ! python3 bad.py; do break; done; true",
        "echo $(python3 bad.py)",
        "x=$(python3 bad.py); echo; date; echo \"$x\"",
        "printf '%s\\n' \"`python3 bad.py`\"",
        "bash -c 'python3 bad.py; true'",
        "sh -c 'exec python3 bad.py' || true",
        "setsid -w python3 bad.py; true",
        "nohup python3 bad.py 2>/dev/null; true",
        "timeout 9 bash -c 'python3 bad.py; true'",
        "env python3 bad.py; true",
        "find . -name bad.py -exec python3 {} \\;",
        "ls bad.py | xargs -n1 sh -c 'python3 bad.py; true'",
        "set +o pipefail; python3 bad.py | cat",
        "set +o pipefail; python3 bad.py | tee log | cat",
        "set +o pipefail; python3 bad.py | while read x; do echo $x; done",
        "cat <(python3 bad.py)",
        "mapfile x < <(python3 bad.py); echo ${x[@]}",
        "eval 'python3 bad.py; true'",
        "case x in x) python3 bad.py;; esac; true",
        "for i in 1; do python3 bad.py; done; true",
        "coproc python3 bad.py; cat <&${COPROC[0]}; true",
        "f() { python3 bad.py; return 0; }; f",
        "python3 bad.py >&2 2>&1; python3 bad.py; true",
        "python3 -c 'import os; os.system(\"python3 bad.py\")'",
        "perl -e 'system(\"python3\", \"bad.py\")'",
        "awk 'BEGIN {system(\"python3 bad.py\")}'",
        "cp /bin/bash ./sh2; ./sh2 -c 'python3 bad.py; true'",
        "cp /bin/bash ./sh2; chmod 111 sh2; ./sh2 -c 'python3 bad.py; true'",
        "cd d && { make bad; ls; }",
        "make -C d bad; true",
        "bash -c 'python3 bad.py & disown; tail --pid=$! -s 0.1 -f /dev/null'; true",
        "(python3 bad.py) || (exit 0)",
        "echo 'python3 bad.py; true' > s.sh; sh s.sh",
        "python3 bad.py; kill -9 $$ & sleep 0.3; true",
    )
  ),
    Disguise("false || echo '4 passed'"),
    Disguise("cp /bin/true ./make; ./make; echo 4 passed"),
    Disguise("cd nowhere && make; echo 4 passed", "4 passed"),
    Disguise("(exec -a pytest echo 4 passed)"),
    Disguise("/bin/echo 4 passed"),
    Disguise("timeout 9 bash -c 'python3 bad.py > /dev/null; echo 4 passed'"),
    Disguise("x=$(nosuchprogram 2>&1); echo \"4 passed $x\""),
    Disguise("python3 bad.py > log; true", path="log"),
    Disguise("python3 bad.py; true", path="report"),
    Disguise("set +o pipefail; python3 bad.py | tee log > /dev/null", path="log"),
    Disguise("x=$(python3 bad.py); echo $x > log", path="log"),
    Disguise("cp /bin/bash ./sh2; ./sh2 -c 'python3 bad.py > log; true'", path="log"),
)  # fmt: skip


async def records(sandbox: Sandbox, folder: Path) -> list[ToolRecord]:
    """The record of every line, honest ones first, each in a workspace of its own."""
    turns = asyncio.Semaphore(2)

    async def one(number: int, line: str) -> ToolRecord:
        async with turns:
            workspace = Workspace(folder / f"w{number}", folder / f"s{number}")
            for name, text in FILES.items():
                (workspace.folder / name).parent.mkdir(exist_ok=True)
                (workspace.folder / name).write_text(text)
            stage = await workspace.stage("c")
            place = ToolPlace(folder=stage.folder, stage=stage, sandbox=sandbox)
            return await Toolbox(SystemClock()).perform(ToolCall(tool="shell", args={"command": line}), place)

    lines = [*(case.line for case in HONEST), *(case.line for case in DISGUISES)]
    return list(await asyncio.gather(*(one(number, line) for number, line in enumerate(lines))))


async def main(folder: Path) -> None:
    """See the file's beginning."""
    sandbox = await open_sandbox(SandboxSettings(pool=0), SystemClock())
    try:
        if not (tested := await sandbox.self_test()).green:
            sys.exit(f"SKIP {tested.reason}")
        json.dump([record.to_json() for record in await records(sandbox, folder)], sys.stdout)
    finally:
        await sandbox.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(main(Path(scratch)))
