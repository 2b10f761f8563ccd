"""Tables of what agents are held to, and of their scores."""

from earnest.accountability.agreement import Agreement
from earnest.accountability.days import Day
from earnest.accountability.heartbeat import Heartbeat, Vote
from earnest.accountability.score import Score
from earnest.effects.ground.storage.tables import index_of, table_of

AGREEMENTS = table_of(Agreement, "agreements", key="account_id")
HEARTBEATS = table_of(Heartbeat, "heartbeats", ("account_id", "id"))
index_of(HEARTBEATS, "heartbeats_to_judge", "at_ms", "account_id", where="state = 'verifying'")
index_of(HEARTBEATS, "heartbeats_that_wait", "account_id", "id", where="waiting > 0")
SCORES = table_of(Score, "scores", key="account_id")
DAYS = table_of(Day, "score_days", ("account_id", "date"))
VOTES = table_of(Vote, "votes")
