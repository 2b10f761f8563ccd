"""Are the programs of a command line named?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.effects.hands.tools.programs import CHARACTERS_MAX, SILENT, WRAPPERS, shell_programs


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("find source -name '*.py' -exec wc -l {} + > counts.txt", "find wc"),
        ("python3 count.py source > counts.txt", "python3"),
        ("a | b && c || d; e & f", "a b c d e f"),
        ("a\nb", "a b"),
        ("a \\\n b", "a"),
        ("(cd x && make)", "make"),
        ("{ a; b; } > out", "a b"),
        ("/usr/bin/env python3 x.py", "python3"),
        ("./run.sh", "run.sh"),
        ("'quoted prog'", ""),
        ('"wc" -l', "wc"),
        ("A=1 B='x y' wc", "wc"),
        ("A=1", ""),
        ("X=$(date +%s) wc", "date wc"),
        ("echo $(sort $(cut -f1 a))", "echo sort cut"),
        ('echo "today: $(date)"', "echo date"),
        ("echo '$(date)'", "echo"),
        ("x=`uname -a`; echo $x", "uname echo"),
        ("diff <(sort a) <(uniq b)", "diff sort uniq"),
        ("env -u X -i A=1 wc", "wc"),
        ("sudo -u bob -n apt install x", "apt"),
        ("nice -n 5 ionice -c 3 make", "make"),
        ("time -p make", "make"),
        ("timeout -k 2 --signal=INT 5s curl x", "curl"),
        ("nohup stdbuf -oL make &", "make"),
        ("ls | xargs -0 -n 1 -I {} rm {}", "ls rm"),
        ("xargs", "xargs"),
        ("find . -type f -execdir gzip {} ';' -ok rm {} ';'", "find gzip rm"),
        ("bash -c 'grep a b | sort'", "grep sort"),
        ("bash -o pipefail -lc 'grep a'", "grep"),
        ("bash script.sh", "bash"),
        ('bash -c "$X"', "bash"),
        ("eval 'wc -l'", "wc"),
        ("if grep -q a b; then cat b; elif true; then tac b; else rev b; fi", "grep cat tac rev"),
        ("for f in rm mv; do gcc -c $f; done", "gcc"),
        ("while read line; do awk 1; done < f", "awk"),
        ("until ping -c1 x; do sleep 1; done", "ping sleep"),
        ("case $x in (rm|mv) cat;; *) tac;; esac; wc", "cat tac wc"),
        ("case $x in\n a) cat ;;\n esac", "cat"),
        ("f() { grep a; }; f b", "grep"),
        ("[[ -f a && rm > 3 ]] && wc", "wc"),
        ("((i++)); a=$((1+2)); wc", "wc"),
        ("! grep a", "grep"),
        ("cat <<EOF\nrm -rf x\nEOF\nwc -l", "cat wc"),
        ("cat <<-'EOF'\n\trm\n\tEOF\nwc", "cat wc"),
        ("cat <<< rm", "cat"),
        ("2>/dev/null >out wc <in 2>&1", "wc"),
        ("wc # | rm", "wc"),
        ("wc a#b", "wc"),
        ("ls ${X:-$(date)}", "ls"),
        ("$X y; wc", "wc"),
        ("echo 'never closed", ""),
        ("echo $(never closed", ""),
        ("", ""),
        (";;;&&||", ""),
        ("cd x; set -e; export A=1; true", ""),
    ],
)
def test_programs_are_named_and_nothing_else(command: str, programs: str) -> None:
    assert shell_programs(command) == frozenset(programs.split())


PIECES = st.sampled_from(
    [
        *SILENT,
        *WRAPPERS,
        *[
            "$(",
            "${",
            "`",
            '"',
            "'",
            "\\",
            "(",
            ")",
            "{",
            "}",
            ";",
            "&",
            "|",
            "<",
            ">",
            "<<",
            "\n",
            "[[",
            "]]",
            "case",
            "in",
            "esac",
            "for",
            "do",
            "find",
            "-exec",
            "bash",
            "-c",
            "eval",
            "a",
            "b",
        ],
        " ",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES).map(" ".join), st.lists(PIECES).map("".join)))
def test_no_text_is_too_odd(command: str) -> None:
    assert all(name and "/" not in name for name in shell_programs(command))


@pytest.mark.parametrize(
    "piece",
    [
        *(
            '"$(',
            "$(",
            "(",
            "((a ",
            "`",
            "${",
            "<<a ",
            "<<a\n",
            "env ",
            "find -exec ",
            "bash -c ",
            "eval ",
            "a;",
            "[[ ",
        ),
        *("[[ ", "case x in ", "foo() ", "sudo -u ", "x=1 ", "$(a) ", "'a' ", "\\", "\v", "\u2003"),
    ],
)
@pytest.mark.timeout(30)  # it takes 0.2 s; were it quadratic, it would take minutes
def test_hostile_text_is_done_with_soon(piece: str) -> None:
    command = (piece * CHARACTERS_MAX)[:CHARACTERS_MAX]
    assert all("/" not in name for name in shell_programs(command))


def test_a_command_over_the_limit_names_nothing() -> None:
    assert shell_programs("wc " + "x" * CHARACTERS_MAX) == frozenset()
