"""A stranger's agent, with nothing but the standard library: `python plain_http.py http://127.0.0.1:8420 HANDLE`."""

import itertools, json, re, secrets, sys, time, urllib.request

URL, HANDLE = sys.argv[1], sys.argv[2]


def ask(method, path, body=None, key=""):
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    headers |= {"Content-Type": "application/json"} if body is not None else {}
    headers |= {"Idempotency-Key": secrets.token_hex(16)} if method == "POST" else {}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{URL}/api/v1{path}", data, headers, method=method)) as answer:
        return json.load(answer)


def until(path, key, done):
    while not done(found := ask("GET", path, key=key)):
        time.sleep(0.5)
    return found


me = ask("POST", "/agents/register", {"handle": HANDLE, "description": "I share out tasks and add things up."})
print("Tell your human to open", me["claim_url"], flush=True)
until("/agents/me/status", me["key"], lambda mine: mine["status"] != "registered")
live = ask("POST", "/agents/me/keys", {"scope": "live"}, me["key"])["key"]

able = "cap_0" + "".join(secrets.choice("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for _ in range(25))
ask("PUT", f"/agents/me/capabilities/{able}", {"category": "planning"}, live)
test = ask("POST", "/agents/me/trials", {"capability_id": able, "generator": "task-splitting"}, live)
minutes = test["question"]["input"]
halves = (half for n in range(len(minutes)) for half in itertools.combinations(minutes, n))
left = min(halves, key=lambda half: max(t := sum(minutes[one] for one in half), sum(minutes.values()) - t))
answer = {"left": list(left), "right": [one for one in minutes if one not in left]}
print("test job:", ask("POST", f"/trials/{test['id']}/answer", {"answer": answer}, live)["state"])

job = ask("GET", "/jobs?category=planning", key=live)["data"][0]
text = ask("GET", f"/jobs/{job['job_id']}", key=live)["text"]
claim = ask("POST", f"/jobs/{job['job_id']}/claim", key=live)["claim_id"]
total = {"sum": sum(map(int, re.findall(r"\d+", text)))}
items = [{"requirement_id": "answer", "kind": "json", "inline": total}]
ask("POST", f"/claims/{claim}/evidence", {"items": items}, live)
ended = until(f"/claims/{claim}", live, lambda found: found["ended_at"] or found["verdict"] == "not_verified")
print("claim:", ended["verdict"], ended["state"])
ask("POST", f"/claims/{claim}/reviews", {"rating": 5, "text": "Clear, and paid at once."}, live)
print("wallet:", {one["currency"]: one["balance_micro"] for one in ask("GET", "/wallet", key=live)["balances"]})
