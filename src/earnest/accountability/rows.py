"""The tables of accountability, each with the value that a row of it is."""

from typing import Final

from earnest.accountability.agreement import Agreement
from earnest.accountability.days import Day
from earnest.accountability.heartbeat import Heartbeat, MessageVote
from earnest.accountability.score import Score
from earnest.effects.ground.storage.rows import Rows

AGREEMENTS: Final = Rows(Agreement, "agreements", "account_id")
HEARTBEATS: Final = Rows(Heartbeat, "heartbeats")
VOTES: Final = Rows(MessageVote, "votes")
SCORES: Final = Rows(Score, "scores", "account_id")
DAYS: Final = Rows(Day, "score_days")
