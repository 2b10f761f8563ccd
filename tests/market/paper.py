"""How would a careful clerk keep one claim on paper, by the prose of the rulings and without the table?

Times are whole seconds since the claim was made. The job: a day of work, a day of grace, three days of review, a day
for each of two revisions; 10,000,001 micro.
"""

from dataclasses import dataclass, field

HOUR = 3_600
DAY = 24 * HOUR
AMOUNT = 10_000_001


@dataclass(slots=True)
class Paper:
    """`may_…` says whether a wish is granted; the same word without it writes down what follows."""

    acceptance: str
    automatic: bool
    now: int = 0
    word: str = "claimed"
    begun: int = 0
    due: int = DAY
    grace: int = 2 * DAY
    tries: int = 0
    revisions: int = 2
    silent_until: int = 0
    lapse: int = 0
    answer_by: int = 0
    appeal_by: int = 0
    verdict: str = ""
    newest: str = ""
    asked: int = 0
    stretched: bool = False
    off: set[str] = field(default_factory=set)
    stopped: tuple[str, int, int] = ("", 0, 0)
    limit: int = 0
    told: bool = False
    seller_gets: int = AMOUNT
    said: list[str] = field(default_factory=list)

    @property
    def working(self) -> bool:
        """The seller owes work for the first time."""
        return self.word in {"claimed", "in_progress"}

    @property
    def handed_in(self) -> bool:
        """Somebody is to judge."""
        return self.word in {"submitted", "verified"}

    @property
    def silence_pays(self) -> bool:
        """Who accepts may just say nothing, unless the machine said no."""
        return self.acceptance in {"buyer", "proposer"} and self.newest != "not_verified"

    def wait(self, seconds: int) -> None:
        """Time passes, and takes with it what has run out."""
        self.now += seconds
        before = ""
        while before != (before := self.word):
            self._run_out()

    def _run_out(self) -> None:
        if self.working and self.now >= self.grace:
            self.end("expired", "missed_deadline")
        elif self.word == "changes_requested" and self.now >= self.answer_by:
            self.no_change_came()
        elif self.word == "declined" and self.now >= self.appeal_by:
            self.end("refunding", "refunded")
        elif self.handed_in and self.silence_pays and self.now >= self.silent_until:
            self.end("releasing")
        elif self.handed_in and not self.silence_pays and self.now >= self.silent_until:
            self.told = True
            if self.now >= self.lapse:
                self.end("refunding")
        elif self.word == "disputed" and self.now >= self.limit:
            if self.newest == "not_verified":
                self.end("refunding", "refunded")
            else:
                if self.newest != "verified":
                    self.seller_gets = AMOUNT - AMOUNT // 2
                self.end("releasing")

    def end(self, word: str, mark: str = "") -> None:
        """It comes to this, and this is said of the seller."""
        self.word = word
        if mark:
            self.said.append(mark)

    def hand_in(self) -> bool:
        """Evidence: while work is owed, or up to three times until the machine has spoken."""
        again = self.word == "submitted"
        if not (self.working or self.word == "changes_requested" or (again and not self.verdict and self.tries < 3)):
            return False
        if self.working and self.now >= self.due and "late" not in self.said:
            self.said.append("late")
        self.tries = self.tries + 1 if again else 1
        self.word, self.verdict, self.told, self.asked, self.off = "submitted", "", False, 0, set()
        self.silent_until = self.now + 3 * DAY
        self.lapse = self.silent_until + 14 * DAY
        return True

    def judge(self, answer: str) -> bool:
        """The machine speaks."""
        if self.word != "submitted":
            return False
        self.verdict = self.newest = answer
        if answer == "verified":
            self.word = "releasing" if self.acceptance == "machine" else "verified"
            self.told = self.acceptance == "human"
        elif answer == "unclear":
            self.told = self.acceptance in {"machine", "human"}
        elif self.revisions > 0:
            self.send_back()
        else:
            self.turn_down()
        return True

    def send_back(self) -> None:
        """A day more."""
        self.revisions -= 1
        self.word, self.begun = "changes_requested", self.now
        self.due = self.answer_by = self.now + DAY

    def no_change_came(self) -> None:
        """What the machine has verified is no worse for that: a day more at least to look at it."""
        if self.verdict != "verified":
            self.turn_down()
            return
        self.word, self.silent_until = "verified", max(self.silent_until, self.now + DAY)
        self.lapse = self.silent_until + 14 * DAY

    def turn_down(self) -> None:
        """Three days to dispute it."""
        self.word, self.appeal_by = "declined", self.now + 3 * DAY

    def may_operator(self) -> bool:
        """People accept, or the machine could not tell."""
        return self.acceptance == "human" or (self.acceptance == "machine" and self.told)

    def stretch(self, seconds: int) -> None:
        """A later deadline."""
        self.due += seconds
        self.grace += seconds
        self.asked = 0

    def stop(self) -> None:
        """A dispute: what was left is kept."""
        ends = {"changes_requested": self.answer_by, "declined": self.appeal_by}
        end = ends.get(self.word, self.silent_until if self.silence_pays else self.lapse)
        self.stopped = (self.word, self.now, end - self.now)
        self.word, self.limit = "disputed", self.now + 21 * DAY

    def go_on(self) -> None:
        """It is withdrawn: all that was left, and a day at least."""
        self.word, since, left = self.stopped
        more = self.now - since + max(0, DAY - left)
        self.silent_until += more
        self.lapse += more
        self.appeal_by += more
        self.answer_by += more
        if self.word == "changes_requested":
            self.due = self.answer_by
            self.begun = min(self.begun + more, self.now)
