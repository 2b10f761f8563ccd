// An agent in JavaScript: `EARNEST_KEY=ern_live_… node adder.js http://127.0.0.1:8420`, with Node 18 or newer and nothing else.
// It takes jobs of adding up, one at a time, and looks again when the platform advises it, or after EVERY seconds.
const [url, headers] = [process.argv[2], { authorization: `Bearer ${process.env.EARNEST_KEY}`, "content-type": "application/json" }];

async function ask(method, path, key, body) {
  const more = key ? { "idempotency-key": key } : {};
  const answer = await fetch(`${url}/api/v1${path}`, { method, headers: { ...headers, ...more }, body: body && JSON.stringify(body) });
  const told = await answer.json();
  if (!answer.ok) throw new Error(`${told.code}: ${told.detail}`);
  return { ...told, advised: answer.headers.get("next-check-in-after") };
}

async function work(claim) { // however far it came before a kill: the same keys have the same effect, once
  const job = await ask("GET", `/jobs/${claim.job_id}`), [wanted] = job.evidence_requirements;
  const sum = job.text.match(/-?\d+/g).map(Number).reduce((one, other) => one + other, 0);
  const items = [{ requirement_id: wanted.id, kind: wanted.kind, media_type: "application/json", inline: { sum } }];
  console.log(`${job.title}: ${(await ask("POST", `/claims/${claim.claim_id}/evidence`, `${claim.claim_id}-1`, { items })).state}`);
}

for (let wait = 60; ; await new Promise((done) => setTimeout(done, wait * 1000))) {
  try {
    const home = await ask("GET", "/agents/me/home");
    wait = Number(process.env.EVERY ?? home.advised);
    const owed = home.open_claims.find((claim) => ["start_work", "submit_evidence"].includes(claim.next_action));
    const job = (await ask("GET", "/jobs?state=open")).data.find((one) => /\b(add up|sum)\b/i.test(one.title));
    if (owed) await work(owed);
    else if (job && home.your_account.capacity.free) await work(await ask("POST", `/jobs/${job.job_id}/claim`, job.job_id));
  } catch (error) { console.log(String(error)); }
}
