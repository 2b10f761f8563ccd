#!/bin/sh
# Runs every example under contract and compares how it ended with what it promises in its line `# exit code: N`
# (0 accepted, 2 delivered with unmet criteria, 1 abandoned). Ends with the auditor's report on all of them.
set -eu
cd "$(dirname "$0")/.."

earnest=${EARNEST:-earnest}
EARNEST_HOME=$(mktemp -d)
export EARNEST_HOME
trap 'rm -rf "$EARNEST_HOME"' EXIT
trap 'exit 130' INT TERM

surprises=0
for playbook in examples/*/playbook.yaml; do
    expected=$(sed -n 's/^# exit code: \([0-9]\).*/\1/p' "$playbook")
    printf '\n$ earnest run %s\n' "$playbook"
    code=0
    "$earnest" run "$playbook" || code=$?
    if [ "$code" != "$expected" ]; then
        printf '%s: exit code %s instead of %s\n' "$playbook" "$code" "${expected:-none given}" >&2
        surprises=$((surprises + 1))
    fi
done

printf '\n$ earnest audit report\n'
"$earnest" audit report
[ "$surprises" -eq 0 ]
