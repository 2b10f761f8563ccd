"""A day in the market: a platform, a proposer and four executors that are plain programs, 32 jobs, and what came of them.

`python day.py [FOLDER]` (`make market-day`) leaves its data directory in FOLDER/home, for `earnest serve --home FOLDER/home`.
"""

import contextlib, datetime, json, os, pathlib, shutil, signal, subprocess, sys, time

import jobs
from earnest.client import claims, jobs as offers, money
from earnest.client.client import Client
from earnest.client.credentials import Credentials, save_credentials
from earnest.client.problem import Problem
from earnest.testing.served import GENEROUS, PROGRAM, served

HERE = pathlib.Path(__file__).parent
FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".market-day").absolute()
EXECUTORS = ("honest", "careless", "liar", "spammer")
LONGEST_QUIET_S = 180
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
        took = time.monotonic() - began
        print(f"\nafter {took:.0f} s:\n", flush=True)
        report(platform, keys, operator)
    home = os.path.relpath(FOLDER / "home")
    earnest = os.path.relpath(pathlib.Path(sys.executable).with_name("earnest"))
    print(f"\n{earnest} serve --home {home}                 # shows it again, at http://127.0.0.1:8420")
    print(f"{earnest} keys operator-link --home {home}    # prints the link that signs the operator in")
    print("then its first page says who broke their word, what it cost, and shows the proof; Metrics (/periods) the rest")


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
    quiet, ended, moved = 0, 0, began
    while quiet < 3:
        time.sleep(1)
        answer(proposer, environment)
        posted = list(proposer.each(offers.list_jobs(mine=True, state="all", limit=100)))
        over = [job for job in posted if job["state"] not in {"open", "taken", "claimed"}]
        titles = {job["title"] for job in posted}
        if len(over) // 8 > ended // 8:
            print(f"{time.monotonic() - began:4.0f} s  {len(posted)} jobs posted, {len(over)} have ended", flush=True)
        quiet = quiet + 1 if len(titles) == count and len(over) == len(posted) else 0
        if len(over) > ended:
            ended, moved = len(over), time.monotonic()
        if time.monotonic() - moved > LONGEST_QUIET_S:
            sys.exit(f"no job ended for {LONGEST_QUIET_S} s: {len(titles)} of {count} were posted, {ended} have ended; see {FOLDER}/*/log.txt")


def answer(proposer, environment):
    """The person behind the proposer looks at what no machine decides: a command that a submission could fake."""
    command = [*PROGRAM, "agent", "questions", "--as", "proposer", "--json"]
    for line in subprocess.run(command, env=environment, capture_output=True, text=True).stdout.splitlines():
        about = json.loads(line)["about"]
        claim = proposer.get_claim(about.partition("/")[0])
        unmet = [one["id"] for one in claim["submissions"][0]["verdict"]["criteria"] if one["verdict"] == "not_verified"]
        said = f"reject {', '.join(unmet)} is not met" if unmet else "approve I have looked at it"
        subprocess.run([*PROGRAM, "agent", "answer", about, said, "--as", "proposer"], env=environment, stdout=subprocess.DEVNULL)


def report(platform, keys, operator):
    """The score board, what each lie cost, and the books: all of it asked of the platform."""
    with Client(platform.url, operator) as client:
        metrics = {one["handle"]: one for one in client.get_metrics()["agents"]}
        books = client.get_solvency()
    print(f"{'agent':<9} {'claims':>6} {'paid':>5} {'an hour':>7} {'sent back':>9} {'rejected':>8} {'failure rate':>12} {'to approval':>11} {'ai$':>7} {'reputation':>10}")
    lies = []
    for name in EXECUTORS:
        with Client(platform.url, keys[name]["live"]) as client:
            mine = [client.get_claim(one["claim_id"]) for one in client.each(claims.list_claims(limit=100))]
            entries = list(client.each(money.list_entries(currency="AID", limit=100)))
            reputation = client.get_agent(name)["reputation"]["lower_bound_ppm"] / 10_000
        paid = [one for one in mine if one["state"] == "released"]
        rejected = [one for one in mine if one["declined_by"]]
        fines = {one["subject_id"]: one["amount_micro"] for one in entries if one["reason"] == "penalty"}
        measured = metrics[name]
        rate, wait = measured["failure_rate"], measured["approval_from_submission"]["median_s"]
        failed = "none judged" if rate is None else f"{rate:.0%}"
        wait = "never" if wait is None else f"{wait} s"
        sent_back = sum(len(one["submissions"]) > 1 for one in mine)
        gained, verified = measured["aid_delta_micro"] / MICRO, measured["verified_per_hour"]
        print(f"{name:<9} {len(mine):>6} {len(paid):>5} {verified:>7.0f} {sent_back:>9} {len(rejected):>8} {failed:>12} {wait:>11} {gained:>+7.2f} {reputation:>8.1f} %")
        lies += [(name, claim, fines.get(claim["claim_id"], 0)) for claim in rejected]
    print("\nwhat each lie cost:\n")
    for name, claim, fine in lies:
        spent = seconds(claim["claimed_at"], claim["ended_at"] or claim["submitted_at"])
        price = claim["amount_micro"] / MICRO
        print(f"{name:<9} {claim['job_title']:<10} {len(claim['submissions'])} times not verified, fined {fine / MICRO:.2f} ai$, not paid {price:.2f} ai$, {spent} s of its day")
    (aid,) = [one for one in books["currencies"] if one["currency"] == "AID"]
    sound = "in balance" if books["solvent"] and aid["sum_micro"] == 0 else "OUT OF BALANCE"
    print(f"\nledger: {sound}, all accounts sum to {aid['sum_micro']}; agents hold {aid['user_balances_micro'] / MICRO:.2f} ai$")


def seconds(begin, end):
    return round((datetime.datetime.fromisoformat(end) - datetime.datetime.fromisoformat(begin)).total_seconds())


if __name__ == "__main__":
    try:
        main()
    except Problem as problem:
        sys.exit(f"the platform says no: {problem}")
