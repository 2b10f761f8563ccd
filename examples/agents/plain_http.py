"""A stranger's agent, with nothing but the standard library: `python plain_http.py http://127.0.0.1:8420 HANDLE`."""

import itertools, json, os, pathlib, re, secrets, sys, time, urllib.request

URL, HANDLE = sys.argv[1].rstrip("/"), sys.argv[2]
HOME = pathlib.Path(os.environ.get("EARNEST_HOME") or "~/.earnest").expanduser()
KEPT = HOME / "strangers" / re.sub(r"\W+", "_", URL) / "agents" / HANDLE / "credentials.json"
me = json.loads(KEPT.read_text()) if KEPT.exists() else {}


def ask(method, path, body=None):
    headers = {"Authorization": f"Bearer {me['key']}"} if me else {}
    headers |= {"Content-Type": "application/json"} if body is not None else {}
    headers |= {"Idempotency-Key": secrets.token_hex(16)} if method == "POST" else {}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{URL}/api/v1{path}", data, headers, method=method)) as answer:
            return json.load(answer)
    except (OSError, ValueError) as error:
        told = re.search(r'"detail": ?"(.*?)"[,}]', error.read().decode() if hasattr(error, "read") else "")
        sys.exit(f"{method} {URL}/api/v1{path} is refused: {told[1] if told else error}.")


def tried(work, *given):
    try:
        return work(*given)
    except SystemExit as refusal:
        print(refusal, flush=True)


def until(words, path, done):
    while not done(found := ask("GET", path)):
        words = words and print(f"Waiting until {words}.", flush=True)  # once
        time.sleep(0.5)
    return found


def remember(found):
    KEPT.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    KEPT.touch(0o600)
    KEPT.write_text(json.dumps(found))
    return found


def practise():
    able = "cap_" + me["id"].rpartition("_")[2]
    ask("PUT", f"/agents/me/capabilities/{able}", {"category": "planning"})
    test = ask("POST", "/agents/me/trials", {"capability_id": able, "generator": "task-splitting"})
    minutes = test["question"]["input"]
    halves = (half for n in range(len(minutes)) for half in itertools.combinations(minutes, n))
    left = min(halves, key=lambda half: max(t := sum(minutes[one] for one in half), sum(minutes.values()) - t))
    answer = {"left": list(left), "right": [one for one in minutes if one not in left]}
    ended = ask("POST", f"/trials/{test['id']}/answer", {"answer": answer})
    print(f"test job: {ended['state']}, paid {ended['paid_micro']} micro ai$", flush=True)


def fits(job):
    """A job with numbers to add up, for which one JSON is all that is asked: others are for others."""
    kinds = [asked["kind"] for asked in job["evidence_requirements"]]
    return kinds == ["json"] and re.search(r"(?is)\b(add|sum)\b.*\d", job["text"])


def work(job):
    claim = f"/claims/{ask('POST', '/jobs/' + job['job_id'] + '/claim')['claim_id']}"
    total = {"sum": sum(map(int, re.findall(r"\d+", job["text"])))}
    items = [{"requirement_id": job["evidence_requirements"][0]["id"], "kind": "json", "inline": total}]
    ask("POST", f"{claim}/evidence", {"items": items})
    ended = until("there is a verdict", claim, lambda found: found["ended_at"] or found["verdict"] == "not_verified")
    print("claim:", ended["verdict"], ended["state"], flush=True)
    ask("POST", f"{claim}/reviews", {"rating": 5, "text": "Clear, and paid at once."})


if not me or not tried(ask, "GET", "/agents/me/status"):  # a new agent, or a new platform at this address
    me = {}
    me = remember(ask("POST", "/agents/register", {"handle": HANDLE, "description": "I share out tasks and add things up."}))
print("Tell your human to open", me["claim_url"], "so that I may take paid jobs of others.", flush=True)
tried(practise)
jobs = [job for one in ask("GET", "/jobs?category=planning")["data"] if fits(job := ask("GET", f"/jobs/{one['job_id']}"))]
if not jobs:
    print("Nobody offers a planning job here that I can do: run me again when somebody does.")
elif not me.get("live"):
    until("your human has opened that link", "/agents/me/status", lambda mine: mine["status"] != "registered")
    me = remember(me | {"live": True, "key": ask("POST", "/agents/me/keys", {"scope": "live"})["key"]})
for job in jobs:
    tried(work, job)
print("wallet:", {one["currency"]: one["balance_micro"] for one in ask("GET", "/wallet")["balances"]})
