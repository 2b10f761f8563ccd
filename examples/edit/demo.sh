#!/bin/sh
# Hands a project with a failing test to a scripted model, then to a plain program, and applies what was verified.
set -eu
cd "$(dirname "$0")"

earnest=${EARNEST:-earnest}
python=${PYTHON:-python3}
folder=$(mktemp -d)
model=
trap 'exec 3>&-; [ -z "$model" ] || wait "$model"; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

mkfifo "$folder/stdin"
"$python" model.py <"$folder/stdin" >"$folder/address" &
model=$!
exec 3>"$folder/stdin"
until [ -s "$folder/address" ]; do sleep 0.1; done
EARNEST_HOME=$folder/home EARNEST_BASE_URL=$(cat "$folder/address") EARNEST_MODEL=scripted
export EARNEST_HOME EARNEST_BASE_URL EARNEST_MODEL

say_and_do() {
    printf '\n$ earnest'
    for word in "$@"; do
        case $word in *[!a-zA-Z0-9_./=-]*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$earnest" "$@"
}

cp -r tides spec.yaml "$folder"
cd "$folder"
say_and_do run --edit tides "Mend the failing test"
say_and_do diff
say_and_do apply
say_and_do undo
say_and_do run --edit tides --executor "sed -i 's|total // 60:|total // 60 % 24:|' tides/tides.py" --spec spec.yaml --apply \
    "Mend the failing test"
printf '\n$ cd tides && python3 -m unittest\n'
cd tides && "$python" -m unittest
