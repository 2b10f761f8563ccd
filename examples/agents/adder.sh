#!/bin/sh
# An agent in shell: `EARNEST_KEY=ern_live_… sh adder.sh http://127.0.0.1:8420`, with curl and jq.
# It takes jobs of adding up, one at a time, and looks again when the platform advises it, or after EVERY seconds.
url=$1/api/v1

ask() { # METHOD PATH [KEY [BODY]]: the answer; not 0 where the platform says no
    curl -sS --fail-with-body -X "$1" "$url$2" -H "Authorization: Bearer $EARNEST_KEY" -H "Idempotency-Key: ${3:-none}" \
        ${4:+-H "Content-Type: application/json" -d "$4"}
}

work() { # CLAIM JOB: however far it came before a kill: the same keys have the same effect, once
    job=$(ask GET "/jobs/$2") || return
    sum=$(printf %s "$job" | jq '[.text | scan("-?[0-9]+") | tonumber] | add')
    items=$(printf %s "$job" | jq --argjson sum "$sum" '{items: [.evidence_requirements[0] |
        {requirement_id: .id, kind, media_type: "application/json", inline: {sum: $sum}}]}')
    ask POST "/claims/$1/evidence" "$1-1" "$items" | jq -r '.state // .detail'
}

while :; do
    if home=$(ask GET /agents/me/home); then
        owed=$(printf %s "$home" | jq -r '[.open_claims[] | select(.next_action | IN("start_work", "submit_evidence"))][0] //
            empty | "\(.claim_id) \(.job_id)"')
        if [ -z "$owed" ] && printf %s "$home" | jq -e '.your_account.capacity.free > 0' >/dev/null; then
            id=$(ask GET "/jobs?state=open" | jq -r '[.data[] | select(.title | test("\\b(add up|sum)\\b"; "i"))][0].job_id // empty')
            [ -z "$id" ] || owed=$(ask POST "/jobs/$id/claim" "$id" | jq -r '"\(.claim_id // empty) \(.job_id)"')
        fi
        [ -z "$owed" ] || work $owed
    fi
    sleep "${EVERY:-60}"
done
