"""Is a submission that does not do the work ever verified? Each case is named for the attack that it tries."""

from collections.abc import Mapping

import pytest

from earnest.verification.verdict import Answer, Verdict

from .trials import Trial, judge_all

TESTS = """
    import unittest
    import solution

    class DigitSum(unittest.TestCase):
        def test_small(self): self.assertEqual(solution.digit_sum(12), 3)
        def test_negative(self): self.assertEqual(solution.digit_sum(-907), 16)
        def test_zero(self): self.assertEqual(solution.digit_sum(0), 0)
        def test_order(self): self.assertLess(solution.digit_sum(10), 2)
        def test_all(self): self.assertEqual([solution.digit_sum(n) for n in range(9, 12)], [9, 1, 2])
"""
PYTEST = """
    import pytest
    from solution import digit_sum

    @pytest.mark.parametrize(("number", "wanted"), [(12, 3), (-907, 16), (0, 0), (99, 18)])
    def test_digits(number, wanted):
        assert digit_sum(number) == wanted

    def test_text():
        with pytest.raises(TypeError):
            digit_sum("12")
"""
HONEST = """
    def digit_sum(n):
        if not isinstance(n, int):
            raise TypeError("a number")
        return sum(map(int, str(abs(n))))
"""
WRONG = "def digit_sum(n): return 3\n"

CHEATS: Mapping[str, str] = {
    "os._exit(0) at import": "import os; os._exit(0)",
    "os._exit(0) in the call": "import os\ndef digit_sum(n): os._exit(0)",
    "sys.exit at import": "import sys; sys.exit(0)",
    "sys.exit in the call": "import sys\ndef digit_sum(n): sys.exit(0)",
    "KeyboardInterrupt": "def digit_sum(n): raise KeyboardInterrupt",
    "an exit code by atexit": "import atexit, os\natexit.register(os._exit, 0)\n" + WRONG,
    "death by a signal": "import os\ndef digit_sum(n): os.kill(os.getpid(), 9)",
    "a thread that ends the process": (
        "import os, threading, time\nthreading.Thread(target=lambda: (time.sleep(.02), os._exit(0))).start()\n" + WRONG
    ),
    "a printed result": "print('Ran 5 tests in 0.001s\\n\\nOK\\n5 passed')\n" + WRONG,
    "results made in advance": """
        import glob, json
        for name in ("result.json", "/work/result.json", "/tmp/result.json"):
            json.dump({"run": 5, "passed": 5, "finished": True}, open(name, "w"))
        def digit_sum(n): return 3
    """,
    "an object equal to everything": """
        class Any:
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            def __lt__(self, other): return True
            __le__ = __gt__ = __ge__ = __eq__
            __hash__ = None
        def digit_sum(n): return Any()
    """,
    "an int whose comparison lies": """
        class Lying(int):
            def __eq__(self, other): return True
            def __lt__(self, other): return True
            def __hash__(self): return 0
        def digit_sum(n): return Lying(77)
    """,
    "a list whose comparison lies": """
        class Lying(list):
            def __eq__(self, other): return True
        def digit_sum(n): return Lying()
    """,
    "a class that says it is an int": """
        class Fake:
            __class__ = int
            def __eq__(self, other): return True
            def __lt__(self, other): return True
        def digit_sum(n): return Fake()
    """,
    "a function that is a class equal to everything": """
        class digit_sum:
            def __init__(self, n): pass
            def __eq__(self, other): return True
            def __lt__(self, other): return True
    """,
    "a metaclass that lies": """
        class Meta(type):
            def __eq__(cls, other): return True
            def __instancecheck__(cls, other): return True
            __hash__ = type.__hash__
        class Any(metaclass=Meta): pass
        def digit_sum(n): return Any
    """,
    "one object for everything": """
        class Digits:
            def __new__(cls, *a): return the_one
            def __lt__(self, other): return True
        the_one = object.__new__(Digits)
        def digit_sum(n): return the_one
    """,
    "one object among new ones": """
        class Digits:
            def __new__(cls, *a): return the_one
            def __eq__(self, other): return True
        the_one = object.__new__(Digits)
        def digit_sum(n): return [object.__new__(Digits) for _ in range(3)][0] and the_one
    """,
    "NotImplemented": "def digit_sum(n): return NotImplemented",
    "not a number": "def digit_sum(n): return float('nan')",
    "unittest patched": """
        import unittest, unittest.case
        unittest.TestCase.assertEqual = lambda *a, **k: None
        unittest.case.TestCase.run = lambda self, result=None: result
        def digit_sum(n): return 3
    """,
    "builtins patched": """
        import builtins
        builtins.isinstance = lambda *a: True
        builtins.all = builtins.any = lambda *a: True
        def digit_sum(n): return 3
    """,
    "json, os.write and the server patched": """
        import json, os, sys
        real = os.write
        def write(fd, data):
            return real(fd, bytes(data).replace(b'"answer",false', b'"answer",true '))
        os.write = write
        json.dumps = lambda *a, **k: "[]"
        def digit_sum(n): raise ValueError
    """,
    "the program that serves replaced": """
        import sys
        for name, module in list(sys.modules.items()):
            if name.startswith("earnest"):
                for key in list(vars(module)):
                    if not key.startswith("__"): setattr(module, key, None)
        def digit_sum(n): return 3
    """,
    "frames walked for what is expected": """
        import sys, gc
        def digit_sum(n):
            frame = sys._getframe()
            while frame:
                for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):
                    if "wanted" in repr(value): return 16
                frame = frame.f_back
            found = [o for o in gc.get_objects() if isinstance(o, str) and "assertEqual(solution.digit_sum" in o]
            return 16 if found else 3
    """,
    "test files looked for": """
        import glob, os, re
        def digit_sum(n):
            for root in ("/work", "/tmp", "/run", "/proc/1", "/proc/self", "/"):
                for place, folders, files in os.walk(root):
                    if place.count("/") > 4: folders.clear()
                    for name in files:
                        if "test_it" in name: exec(open(os.path.join(place, name)).read()); return 3
                        break
            return 3
    """,
    "the memory of pid 1": """
        def digit_sum(n):
            try: data = open("/proc/1/mem", "rb").read(10)
            except OSError: data = b""
            return 3
    """,
    "hard-coded examples": "def digit_sum(n): return {12: 3, 0: 0}[n]",
    "clock tampering": """
        import time
        time.time = time.monotonic = lambda: 0
        def digit_sum(n): return 3
    """,
    "right output, then failure": """
        import os
        calls = 0
        def digit_sum(n):
            global calls
            calls += 1
            if calls == 5: os._exit(0)
            return sum(map(int, str(abs(n))))
    """,
    "a daemon": """
        import os, time
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
        def digit_sum(n): return sum(map(int, str(abs(n))))
    """,
    "a memory bomb": "held = []\ndef digit_sum(n):\n    while True: held.append(bytearray(1 << 20))",
    "a process bomb": "import os\ndef digit_sum(n):\n    while True: os.fork()",
    "an output bomb": "def digit_sum(n):\n    while True: print('x' * 100_000)",
    "an output bomb past python": "import os\ndef digit_sum(n):\n    while True: os.write(1, b'x' * 100_000)",
    "a disk bomb": "def digit_sum(n):\n    f = open('/tmp/x', 'wb')\n    while True: f.write(b'x' * (1 << 20))",
    "an endless loop": "def digit_sum(n):\n    while True: pass",
    "sleep": "import time\ndef digit_sum(n): time.sleep(600)",
    "flaky answers": """
        import itertools
        calls = itertools.count()
        def digit_sum(n): return 3 if next(calls) % 2 else sum(map(int, str(abs(n))))
    """,
    "a huge answer": "def digit_sum(n): return 'x' * (40 << 20)",
    "a huge number": "def digit_sum(n): return 1 << (1 << 28)",
    "deep nesting": "def digit_sum(n):\n    x = ()\n    for _ in range(100_000): x = (x,)\n    return x",
    "an exception whose text lies": """
        class Good(Exception):
            def __str__(self): return "OK"
            def __eq__(self, other): return True
        def digit_sum(n): raise Good()
    """,
    "an exception that skips the test": """
        import unittest
        def digit_sum(n): raise unittest.SkipTest("nothing to see")
    """,
    "an exception of pytest": """
        class Skipped(Exception): pass
        Skipped.__module__ = "builtins"
        def digit_sum(n): raise Skipped()
    """,
    "garbage on every descriptor": """
        import os
        def digit_sum(n):
            for fd in range(64):
                try: os.write(fd, b"\\x10\\0\\0\\0[1,\\"answer\\",true]")
                except OSError: pass
            return 3
    """,
    "an answer out of turn": """
        import os, json
        def frame(number):
            data = json.dumps([number, "answer", True, 3, [], [], "", "", [], None, []]).encode()
            return len(data).to_bytes(4, "little") + data
        def digit_sum(n):
            for number in range(200): os.write(4, frame(number))
            return 3
    """,
    "a flood of answers": """
        import os
        def digit_sum(n):
            while True: os.write(4, b"\\xff\\xff\\xff\\0" + b"[" * 65536)
    """,
    "a pipe closed": "import os\nos.close(4)\n" + WRONG,
    "a pipe read by another thread": """
        import os, threading
        def steal():
            while True: os.read(3, 10)
        threading.Thread(target=steal, daemon=True).start()
        def digit_sum(n): return 3
    """,
    "the stand-in asked for what it was not given": """
        import sys
        from earnest.verification.unit_tests import serving
        def digit_sum(n):
            frame = sys._getframe()
            while frame and not isinstance(frame.f_locals.get("self"), serving.Server): frame = frame.f_back
            server = frame.f_locals["self"]
            for number in range(10):
                for name in ("__globals__", "__code__", "f_back", "gi_frame"):
                    try: return server.ask("get", number, name)
                    except Exception: pass
            return 3
    """,
    "nothing there": "",
    "no python": "def digit_sum(n) return",
    "an import that fails": "import nothing_of_that_name\n" + WRONG,
    "None": "def digit_sum(n): return None",
}

BESIDE: Mapping[str, Mapping[str, str]] = {
    "conftest.py": {
        "conftest.py": "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_call(item): return True\n",
        "tests/conftest.py": "collect_ignore_glob = ['*']",
    },
    "ini files": {
        "pytest.ini": "[pytest]\naddopts = -p cheat --collect-only\n",
        "tox.ini": "[pytest]\naddopts = --co\n",
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-k nothing'\n",
        "cheat.py": "def pytest_pyfunc_call(pyfuncitem): return True",
    },
    "sitecustomize and .pth": {
        "sitecustomize.py": "import os; os._exit(0)",
        "usercustomize.py": "import os; os._exit(0)",
        "x.pth": "import os; os._exit(0)\n",
    },
    "shadowed modules": {
        "unittest.py": "class TestCase:\n    pass\ndef main(): pass\n",
        "pytest.py": "def raises(*a): pass\ndef main(*a, **k): return 0\n",
        "json.py": "def loads(x): return []\ndef dumps(x): return '[]'\n",
        "test_it.py": "import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n",
        "earnest/__init__.py": "",
        "_pytest/__init__.py": "",
    },
}

TRIALS = [
    *(Trial(name=f"{name} ({runner})", solution=text, tests=tests) for name, text in CHEATS.items()
      for runner, tests in (("unittest", TESTS), ("pytest", PYTEST))),
    *(Trial(name=f"{name} ({runner})", solution=WRONG, tests=tests, beside=files) for name, files in BESIDE.items()
      for runner, tests in (("unittest", TESTS), ("pytest", PYTEST))),
]  # fmt: skip
HONESTS = [
    Trial(name="honest (unittest)", solution=HONEST, tests=TESTS, config={"min_tests": 5}),
    Trial(name="honest (pytest)", solution=HONEST, tests=PYTEST, config={"min_tests": 5}),
    *(
        Trial(name=f"honest beside {name}", solution=HONEST, tests=TESTS, beside=files)
        for name, files in BESIDE.items()
    ),
]


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    return judge_all([*TRIALS, *HONESTS])


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", [trial.name for trial in TRIALS])
def test_a_cheat_is_not_verified(name: str, verdicts: dict[str, Verdict]) -> None:
    assert verdicts[name].answer is not Answer.VERIFIED


@pytest.mark.slow
@pytest.mark.parametrize("name", [trial.name for trial in HONESTS])
def test_the_honest_are_verified_by_the_same_tests(name: str, verdicts: dict[str, Verdict]) -> None:
    assert verdicts[name].answer is Answer.VERIFIED, verdicts[name].criteria[0].reason
