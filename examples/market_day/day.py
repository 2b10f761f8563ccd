"""A day in the market: a platform, a proposer and four executors that are plain programs, 32 jobs, and what came of them.

`python day.py [FOLDER]` (`make market-day`) leaves its data directory in FOLDER/home, for `earnest serve --home FOLDER/home`.
"""

import contextlib, json, os, pathlib, shutil, signal, subprocess, sys, time

import jobs
from earnest.client.client import Client

from earnest.client.credentials import Credentials, save_credentials
from earnest.client.problem import Problem
from earnest.testing.served import GENEROUS, PROGRAM, served

HERE = pathlib.Path(__file__).parent
FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".market-day").absolute()
EXECUTORS = ("honest", "careless", "liar", "spammer")
LONGEST_S = 300
MICRO = 1_000_000


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
    theirs = {**environment, "EARNEST_HOME": str(FOLDER / "agents-home"), "USE_LANGGRAPH": "0"}
    (FOLDER / "proposer").mkdir(parents=True)
    count = jobs.write(FOLDER / "proposer")
    with served(FOLDER / "home", environment, settings=GENEROUS) as platform:
        print(f"the platform is open at {platform.url}", flush=True)
        operator = platform.become_operator()
        keys = {name: platform.agent(name) for name in ("proposer", *EXECUTORS)}
        for name, key in keys.items():
            save_credentials(FOLDER / "agents-home", Credentials(handle=name, url=platform.url, key=key["live"], id=key["id"]))
        for name in EXECUTORS:
            (FOLDER / name).mkdir()
            (FOLDER / name / "agent.toml").write_text(
                f'role = "executor"\nexec = "python3 {HERE / "worker.py"} {name}"\ncategories = ["data", "software"]\nevery_s = 1\nmodel = false\n'
            )
        began = time.monotonic()
        with agents(theirs), Client(platform.url, keys["proposer"]["live"]) as proposer:
            finish(proposer, count, began, theirs)
        print(f"\nafter {time.monotonic() - began:.0f} s:\n", flush=True)
        report(platform, keys, operator)
    print(f"\nearnest serve --home {os.path.relpath(FOLDER / 'home')}   # opens it again")


@contextlib.contextmanager
def agents(environment):
    """All of them, each a process of its own, until the block ends."""
    running = []
    for name in ("proposer", *EXECUTORS):
        with (FOLDER / name / "log.txt").open("w") as log:
            command = [*PROGRAM, "agent", "--as", name]
            running.append(subprocess.Popen(command, cwd=FOLDER / name, env=environment, stdout=log, stderr=log))
    try:
        yield
    finally:
        for process in running:
            process.send_signal(signal.SIGINT)
        for process in running:
            process.wait(30)


def finish(proposer, count, began, environment):
    """Wait until every job has an end; answer what the proposer asks its operator meanwhile."""
    told = quiet = 0
    while quiet < 3:
        time.sleep(1)
        answer(proposer, environment)
        posted = list(each(proposer, "mine"))
        over = [job for job in posted if job["state"] not in {"open", "taken", "claimed"}]
        titles = {job["title"] for job in posted}
        if len(over) // 8 > told:
            told = len(over) // 8
            print(f"{time.monotonic() - began:4.0f} s  {len(posted)} jobs posted, {len(over)} have ended", flush=True)
        quiet = quiet + 1 if len(titles) == count and len(over) == len(posted) else 0
        if time.monotonic() - began > LONGEST_S:
            sys.exit(f"the day was too short: {len(titles)} of {count} jobs posted, {len(over)} have ended; see {FOLDER}/*/log.txt")


def answer(proposer, environment):
    """The person behind the proposer looks at what no machine decides: a command that a submission could fake."""
    command = [*PROGRAM, "agent", "questions", "--as", "proposer", "--json"]
    for line in subprocess.run(command, env=environment, capture_output=True, text=True).stdout.splitlines():
        about = json.loads(line)["about"]
        claim = proposer.get_claim(about.partition("/")[0])
        unmet = [one["id"] for one in claim["submissions"][-1]["verdict"]["criteria"] if one["verdict"] == "not_verified"]
        said = f"reject {', '.join(unmet)} is not met" if unmet else "approve I have looked at it"
        subprocess.run([*PROGRAM, "agent", "answer", about, said, "--as", "proposer"], env=environment, stdout=subprocess.DEVNULL)


def each(client, what):
    from earnest.client import claims, jobs as of_jobs

    return client.each(of_jobs.list_jobs(mine=True, state="all", limit=100) if what == "mine" else claims.list_claims(role="seller", limit=100))


def report(platform, keys, operator):
    print(f"{'agent':<10} {'claims':>6} {'paid':>5} {'sent back':>9} {'rejected':>8} {'failure rate':>12} {'ai$':>8} {'to approval':>11} {'reputation':>10}")
    lies = []
    for name in EXECUTORS:
        with Client(platform.url, keys[name]["live"]) as client:
            mine = [client.get_claim(one["claim_id"]) for one in each(client, "claims")]
            fines = {one["subject_id"]: one["amount_micro"] for one in money(client) if one["reason"] == "penalty"}
            paid = [one for one in mine if one["state"] == "released"]
            lost = [one for one in mine if one["declined_by"]]
            verdicts = [one["verdict"]["verdict"] for claim in mine for one in claim["submissions"] if one["verdict"]]
            failed = verdicts.count("not_verified")
            waits = sorted(seconds(one["submitted_at"], one["ended_at"]) for one in paid)
            balance = next(one["balance_micro"] for one in client.get_wallet()["balances"] if one["currency"] == "AID")
            shown = client.get_agent(name)["reputation"]
            print(
                f"{name:<10} {len(mine):>6} {len(paid):>5} {sum(len(one['submissions']) > 1 for one in mine):>9} {len(lost):>8}"
                f" {f'{failed} of {len(verdicts)}':>12} {(balance - 100 * MICRO) / MICRO:>+8.2f} {f'{waits[len(waits) // 2]} s' if waits else '-':>11} {shown.get('score', shown.get('value', '-')):>10}"
            )
            lies += [(name, one, fines.get(one["claim_id"], 0)) for one in lost]
    print("\nwhat each lie cost:\n")
    for name, claim, fine in lies:
        spent = seconds(claim["claimed_at"], claim["ended_at"] or claim["submitted_at"])
        print(f"{name:<10} {claim['job_title']:<12} {len(claim['submissions'])} times not verified, {fine / MICRO:.2f} ai$ fined, {claim['amount_micro'] / MICRO:.2f} ai$ not earned, {spent} s lost")
    with Client(platform.url, operator) as client:
        books = client.get_solvency()
        print(f"\nledger: {'in balance' if books['solvent'] else 'OUT OF BALANCE'}; " + ", ".join(f"{one['currency']} {one}" for one in books["currencies"] if one["currency"] == "AID"))


def money(client):
    from earnest.client import money as of_money

    return client.each(of_money.list_entries(currency="AID", limit=100))


def seconds(begin, end):
    from datetime import datetime

    return round((datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds())


if __name__ == "__main__":
    try:
        main()
    except Problem as problem:
        sys.exit(f"the platform says no: {problem}")
