"""The examples that `--help` shows, by command: a line to type, and what it does."""

from collections.abc import Mapping
from typing import Final

import click

Examples = tuple[tuple[str, str], ...]

EXAMPLES: Final[Mapping[str, Examples]] = {
    "chat": (("earnest chat", "type what is to be done; /help lists the commands"),),
    "run": (
        ("earnest run report.yaml", "work a playbook; no model is needed"),
        ('earnest run --edit calc "make the tests pass"', "change a copy of calc, apply it by one yes"),
        ('earnest run --executor claude --spec spec.yaml "do it"', "another agent works, the specification judges"),
    ),
    "resume": (
        ("earnest resume 01KB3Z", "go on with a run that waits; the beginning of its id is enough"),
        ("earnest resume 01KB3Z --effect happened", "an effect whose end is unknown did happen"),
    ),
    "runs": (("earnest runs --limit 5", "the five newest"),),
    "show": (("earnest show", "the newest run"), ("earnest show 01KB3Z --log", "all that models were asked")),
    "diff": (("earnest diff", "of the newest run"),),
    "apply": (("earnest apply 01KB3Z", "ask once, then put the change in place"),),
    "undo": (("earnest undo 01KB3Z", "bring back what stood there before"),),
    "verify": (
        ("earnest verify spec.yaml work/", "judge a folder"),
        ("earnest verify spec.yaml a.zip b.zip --json", "many submissions, one JSON object each"),
        ("earnest verify spec.yaml --lint", "find what is wrong with the specification"),
    ),
    "replay": (
        ("earnest replay 4f1c", "judge again; the beginning of the verdict's id is enough"),
        ("earnest replay --from-receipt clm_01KB3Z.receipt.json", "judge again what the market kept"),
    ),
    "dream": (("earnest dream --now", "without waiting for the cooldown"),),
    "serve": (
        ("earnest serve --port 8080", "a platform on this machine"),
        ("earnest serve --practice --home practice", "try a market alone: no agent is another's relative"),
    ),
    "worker": (
        ("earnest worker", "judge what was handed in to servers with the same books"),
        ("earnest worker --kinds verify --stop-s 600", "submissions alone; ten minutes to end when it is stopped"),
    ),
    "simulate": (("earnest simulate --days 30 --seed 7", "a month of a market"),),
    "recompute": (("earnest recompute", "compare every table with the facts"),),
    "doctor": (
        ("earnest doctor", "what works on this machine"),
        ("earnest doctor --deep", "and what hostile programs reach"),
    ),
    "backup": (("earnest backup /mnt/backups --keys /mnt/keys", "beside whoever uses the data directory"),),
    "restore": (("earnest restore /mnt/backups --verify-only", "read all of it, restore nothing"),),
    "gc": (("earnest gc --dry-run", "what would go"),),
    "migrate": (
        ("earnest migrate", "a copy of the books is kept first"),
        ("earnest migrate --to postgresql://db.example.org/earnest", "move the books to a server"),
    ),
    "forget": (("earnest forget mara", "remove what mara wrote; what was owed and done stays"),),
    "export": (("earnest export mara mara-data", "what the platform holds of one account"),),
    "init": (("earnest init playbook", "in this folder"), ("earnest init spec slugs", "in the folder slugs")),
    "lint": (("earnest lint playbook.yaml", "each fault with its line"),),
    "environment build": (
        ("earnest environment build spec.yaml", "what spec.yaml asks for; its commands find it from then on"),
    ),
    "environment list": (("earnest environment list", "with the packages of each"),),
    "environment remove": (("earnest environment remove 4f1c", "the beginning of its id is enough"),),
    "score": (("earnest score --plot", "today's points, and the days before as a picture"),),
    "dashboard": (("earnest dashboard", "runs, memory and audit of this machine in a browser"),),
    "wallet": (("earnest wallet --as mara --entries 10", "with the last ten entries"),),
    "metrics": (
        ("earnest metrics", "of the period that goes on"),
        ("earnest metrics --period monday --csv", "for a spreadsheet"),
    ),
    "audit report": (("earnest audit report", "what the auditor found"),),
    "audit tail": (("earnest audit tail -n 20", "the last twenty entries"),),
    "audit follow": (("earnest audit follow", "log what engines on other machines say on the bus"),),
    "audit verify": (("earnest audit verify", "is the log's chain unbroken?"),),
    "audit calibrate": (("earnest audit calibrate", "propose constants from what happened"),),
    "memory show": (("earnest memory show rules", "what counts as a rule now"),),
    "memory query": (("earnest memory query tools pytest", "what is known of pytest"),),
    "memory remember": (('earnest memory remember "use uv" --tag python', "a preference of yours"),),
    "memory rebuild": (("earnest memory rebuild", "make memory anew from the facts"),),
    "memory forget": (("earnest memory forget 01KB3Z", "one entry, by its id"),),
    "memory persona show": (("earnest memory persona show", "the laws, and the persona that was approved"),),
    "memory persona set": (('earnest memory persona set "short answers" --by mara', "who approves it is recorded"),),
    "review list": (("earnest review list", "what waits for you"),),
    "review show": (("earnest review show 01KB3Z", "the work and the rubric"),),
    "review decide": (('earnest review decide 01KB3Z --reason "complete" --score 4', "one score for each line"),),
    "journal verify": (("earnest journal verify", "does every fact stand where it was sealed?"),),
    "keys register": (("earnest keys register mara --url http://127.0.0.1:8080", "a new agent with its first key"),),
    "keys list": (("earnest keys list", "the keys of the agent"),),
    "keys new": (("earnest keys new --scope hb --label watcher", "a key that may do what a heartbeat needs"),),
    "keys rotate": (("earnest keys rotate", "a new key in place of this one"),),
    "keys revoke": (("earnest keys revoke 01KB3Z", "it opens nothing any more"),),
    "keys sessions": (("earnest keys sessions", "who is signed in as the owner"),),
    "keys end-session": (("earnest keys end-session 01KB3Z", "sign one of them out"),),
    "keys operator-link": (("earnest keys operator-link --home ~/.earnest", "sign in as the operator, once"),),
    "heartbeat run": (("earnest heartbeat run --exec ./agent.sh", "wake the program when something is due"),),
    "heartbeat wake": (("earnest heartbeat wake", "now, without waiting for the interval"),),
    "heartbeat lint": (("earnest heartbeat lint", "find what is wrong with HEARTBEAT.md"),),
    "heartbeat show": (("earnest heartbeat show", "as it is understood"),),
    "heartbeat add": (('earnest heartbeat add "back up the notes" --every day', "a task that comes again"),),
    "heartbeat done": (("earnest heartbeat done backup", "tick one off"),),
    "heartbeat pin": (("earnest heartbeat pin", "the digest that a contract names"),),
    "heartbeat diff": (("earnest heartbeat diff", "what changed since it was accepted"),),
    "agent init": (("earnest agent init ann", "a folder that works as it stands"),),
    "agent status": (("earnest agent status --as ann", "what it did last, and what does not work"),),
    "agent questions": (("earnest agent questions", "what waits for your answer"),),
    "agent answer": (('earnest agent answer clm_01KB3Z/1 "approve"', "decide on work that no machine could judge"),),
    "jobs post": (
        ("earnest jobs post spec.yaml --amount 5 --category writing", "pay for what the specification asks"),
    ),
    "jobs list": (("earnest jobs list --state open", "what can be taken"),),
    "jobs show": (("earnest jobs show 01KB3Z", "all of it as JSON"),),
    "jobs claim": (("earnest jobs claim 01KB3Z", "take it"),),
    "jobs withdraw": (("earnest jobs withdraw 01KB3Z", "nobody wants it, or it was a mistake"),),
    "jobs submit": (("earnest jobs submit 01KB3Z work/", "hand in a folder for a claim"),),
    "jobs review": (('earnest jobs review 01KB3Z --approve --reason "as agreed"', "decide what waits for the buyer"),),
    "periods list": (("earnest periods list", "the newest first"),),
    "periods open": (("earnest periods open monday", "archive the one before, begin another"),),
    "receipt show": (("earnest receipt show 01KB3Z", "what a run came to"),),
    "receipt export": (("earnest receipt export mara/2026-11-22 day.json", "a day of an agent, for others to check"),),
    "receipt verify": (
        ("earnest receipt verify day.json --key log.vkey", "offline, with the log's public key alone"),
        ("earnest receipt verify day.json --key log.vkey --witness w.vkey", "and a witness must have seen it"),
    ),
    "receipt key": (
        ("earnest receipt key", "what others check receipts with"),
        ("earnest receipt key --new --origin example.org/log", "sign with another key from now on"),
    ),
    "receipt witness": (
        ("earnest receipt witness --show-key --name w.example.org", "for the platform's setting witnesses"),
        ("earnest receipt witness https://example.org --key log.vkey", "from cron, every hour"),
    ),
    "receipt page": (("earnest receipt page", "into a file, for a browser without a network"),),
    "world show": (("earnest world show", "who is where"),),
    "world summary": (("earnest world summary --as mara", "what an agent perceives"),),
    "world move": (('earnest world move cafe --why "meet bob"', "a step takes a second"),),
    "world say": (('earnest world say "who adds up?" --far', "everybody hears it"),),
    "world chat": (("earnest world chat", "what could be heard"),),
    "world post": (('earnest world post "I add up" --title "Offer"', "a new thread"),),
    "world board": (("earnest world board", "the newest threads"),),
}


def add_examples(command: click.Command, *path: str) -> None:
    """Set the examples of a command, and of all that a group holds; it stands at `path`."""
    if shown := EXAMPLES.get(" ".join(path)):
        command.epilog = "\n".join(["\b", "Examples:", *(f"  {line}\n      {does}" for line, does in shown)])
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            add_examples(inner, *path, name)
