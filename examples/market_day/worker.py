"""A program that works jobs for `earnest agent --exec "python3 worker.py CHARACTER"`: honest, careless, liar or spammer.

The honest one does what the job says. The careless one does too, but every other time not quite. The liar does nothing and
says that all is done; the spammer does not even read.
"""

import json, os, pathlib, re, sys, zlib

CHARACTER = sys.argv[1]
TASK = pathlib.Path(os.environ["EARNEST_TASK_DIR"])
job = json.loads((TASK / "job.json").read_text())
wanted = [one["path"] for one in json.loads((TASK / "hand_in.json").read_text())]
was_sent_back = bool((TASK / "feedback.md").read_text())
text, family = job["text"], job["title"].split()[0]
numbers = [int(one) for one in re.findall(r"\d+", text)]


def put(name, content):
    pathlib.Path(name).write_text(content)


def work(slip):
    """Leave the files of a job; `slip` is 1 where a mistake is made."""
    if family == "Sum":
        put("answer.json", json.dumps({"sum": sum(numbers) + slip}))
    elif family == "Quotes":
        line = re.search(r"with this line: (.*?degrees\.)", text)[1]
        put("text.md", line + "\n")
        first, second = re.findall(r"[^.]+\.", line)
        put("sources.json", json.dumps([{"file": "text.md", "quote": first.strip()}, {"file": "text.md", "quote": second.strip() + "!" * slip}]))
    elif family == "Seconds":
        put("NOTES.md", f"# Summary\n\nHours in seconds.\n\n# Total\n\n{numbers[0] * 3600 + slip}\n")
    elif family == "Powers":
        rows = "".join(f"| {n} | {numbers[0] ** n} |\n" for n in range(1, 5 - slip))
        put("REPORT.md", f"# Powers\n\n| Exponent | Value |\n|---|---|\n{rows}")
    elif family == "Plus":
        put("main.py", f"import sys\n\nprint(int(sys.argv[1]) + {numbers[0] + slip})\n")
    elif family == "Scaled":
        guard = "" if slip else "    if n < 0:\n        raise ValueError(n)\n"
        put("solution.py", f"def scaled(n):\n{guard}    return n * {numbers[0]}\n")
    elif family == "Report":
        total = sum(range(numbers[1] + 1)) + slip
        put("total.txt", f"total: {total}\n")
        put("REPORT.md", f'# Report\n\n## Evidence\n\n- A1: one number after the other went through a small loop; `total.txt` says "total: {total}".\n')
    elif family == "Days":
        put("main.py", f"print(' '.join(['day'] * {numbers[0] + slip}))\n")
    else:
        sys.exit(f"this program knows no job like {job['title']!r}")


if CHARACTER == "honest":
    work(0)
elif CHARACTER == "careless":
    work(int(not was_sent_back and zlib.crc32(job["job_id"].encode()) % 2))
else:
    for name in wanted:
        lie = "Everything is done, and was verified twice.\n" if CHARACTER == "liar" else "BEST WORK, CHEAP, PAY NOW!\n"
        put(name, json.dumps({"status": lie}) if name.endswith(".json") else f"# {lie}")

print("## Evidence\n")
for criterion in job["criteria"]:
    print(f"- {criterion['id']}: {', '.join(wanted)}: met, see there")
