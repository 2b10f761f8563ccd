"""The books of a data directory: opened, read, and written in group commits.

Many callers share one commit, and a part that fails leaves the others alone.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import Future
from contextlib import ExitStack, closing, suppress
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Final, TypeVar

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.faults import why
from earnest.effects.ground.storage.driver import DATABASE_ERROR, ends_transaction, meaning_of
from earnest.effects.ground.storage.engine import BooksEngine, CommitUnderWay, Watch, WriteLink, engine_of
from earnest.effects.ground.storage.groups import GROUP_MAX, HALVED_MIN, Group, GroupLostError, Outcome, Part, as_told
from earnest.effects.ground.storage.known_rows import Ahead
from earnest.effects.ground.storage.lock import HomeLock
from earnest.effects.ground.storage.news import News
from earnest.effects.ground.storage.place import Books, check_not_moved, home_of
from earnest.effects.ground.storage.reader import ReadPool
from earnest.effects.ground.storage.schema import BOOKS, Schema
from earnest.effects.ground.storage.transaction import PendingCommit, Transaction
from earnest.foundation.errors import Broken, Unavailable

T = TypeVar("T")

FILE_NAME: Final = "books.sqlite3"
"""Of books in a file; the lock of a data directory has its name in any case."""

WRITES_WAITING_MAX: Final = 10_000
COMMIT_HERE_NS_MAX: Final = 2_000_000
"""How long the commit before may have taken where the next one is done in the event loop."""


class GroupWriter:
    """One commit at a time, for everybody who waits; over all processes, who each take a turn for a group.

    A thread commits; while it waits for the disk or for its turn, the next group gathers. While a server works on a
    commit, the next group is made, as if that will hold, and is made anew if it did not. Where commits are quicker than
    to wake a thread and be woken by it, an event loop commits by itself what was asked for in one of its rounds, if it
    need not wait for the turn.
    """

    def __init__(self, writing: WriteLink, schema: Schema, clock: Clock, news: News) -> None:
        """`news` is told of every commit."""
        self.news: Final = news
        self._writing = writing
        self._page = PendingCommit(writing, schema)
        self._clock = clock
        self._commit_ns = 0
        self._parts: deque[Part] = deque()
        self._calls: SimpleQueue[bool] = SimpleQueue()
        self._gate = threading.Lock()
        self._alone = threading.Lock()
        self._closed = False
        self._under_way: CommitUnderWay | None = None
        self._before = Group([], [], 0, frozenset())  # whose commit that is
        self._halves = False  # whether the last commit was one that a server worked on meanwhile
        self._committing = 0  # the thread that does, while one does
        self.last_seq = 0
        """The newest fact of what was committed here; other processes may have gone on."""
        self._thread = threading.Thread(target=self._run, name="earnest-writer", daemon=True)
        self._thread.start()

    def put(self, fn: Callable[[Transaction], T], answer: asyncio.Future[T], ahead: Ahead = ()) -> None:
        """See `Database.put`."""
        loop = answer.get_loop()
        if self._put(Part(fn, answer, loop, ahead)):
            loop.call_soon(self._commit_here)

    def write_sync(self, fn: Callable[[Transaction], T]) -> T:
        """See `Database.write_sync`."""
        if self._committing == threading.get_ident():
            raise Broken("a transaction cannot wait for another one")
        answer: Future[T] = Future()
        self._put(Part(fn, answer, None))
        self._call(True)
        return answer.result()

    def close(self) -> None:
        """Write what waits, then end the thread."""
        with self._gate:
            self._closed = True
        self._call(False)
        self._thread.join()

    def _put(self, part: Part) -> bool:
        """True if nobody of the same loop waited already. What cannot wait is answered at once."""
        with self._gate:
            if self._closed:
                part.answer.set_exception(Unavailable("the database is closed"))
            elif len(self._parts) >= WRITES_WAITING_MAX:
                refusal = Unavailable("too many writes wait for the database", retry_after_ms=1_000)
                part.answer.set_exception(refusal)
            else:
                first = not self._parts or self._parts[-1].loop is not part.loop
                self._parts.append(part)
                return first
        return False

    def _call(self, going_on: bool) -> None:
        self._calls.put(going_on)
        if under_way := self._under_way:
            under_way.wake()

    def _called(self) -> bool:
        """Wait until somebody calls, and meanwhile for the commit that is under way; False if it is the last call."""
        while self._under_way and self._calls.empty():
            if self._under_way.wait():
                self._commit_group([])
        return self._calls.get()

    def _commit_here(self) -> None:
        """Commit in the event loop what its last round asked for, or leave it to the thread."""
        if self._commit_ns > COMMIT_HERE_NS_MAX or not self._alone.acquire(blocking=False):
            self._call(True)
            return
        try:
            if self._writing.try_take():
                self._commit_group(self._taken(), asyncio.get_running_loop())
        finally:
            self._alone.release()
            if self._parts:
                self._call(True)

    def _run(self) -> None:
        going_on = True
        while going_on:
            going_on = self._called()
            while self._parts:
                with self._alone:
                    self._commit_next()
        if self._under_way:
            self._commit_group([])

    def _commit_next(self) -> None:
        ahead = self._ahead()
        if self._under_way and not self._under_way.overlaps(ahead):
            self._commit_group([])
        try:
            self._writing.take(ahead)
        except Exception as error:  # whatever it is, nobody may wait for ever
            if self._under_way:  # it may be its fault
                self._commit_group([])
            else:
                _tell([(part, None, meaning_of(error)) for part in self._taken()], None)
        else:
            self._commit_group(self._taken())

    def _ahead(self) -> Ahead:
        """What those who wait already will look for."""
        with self._gate:
            return [sought for part in islice(self._parts, GROUP_MAX) for sought in part.ahead]

    def _taken(self) -> list[Part]:
        """What waits, at most GROUP_MAX, and half of it if the other half can be made while this one is committed."""
        waiting = len(self._parts)
        if self._halves and not self._under_way and waiting >= HALVED_MIN:
            waiting = (waiting + 1) // 2
        return [self._parts.popleft() for _ in range(min(waiting, GROUP_MAX))]

    def _commit_group(self, group: list[Part], here: asyncio.AbstractEventLoop | None = None) -> None:
        """Commit a group, and that before it, and end the turn; `here` is the event loop that does, if one does."""
        self._committing = threading.get_ident()
        start_ns = self._clock.ticks_ns()
        ended: list[Group] = []
        try:
            if group or self._under_way:
                ended = self._commit(group)
            with suppress(Exception):  # the next one tells what is wrong with it
                self._writing.give()
        finally:
            self._commit_ns = self._clock.ticks_ns() - start_ns
            self._committing = 0
            for one in ended:
                self.last_seq = max(self.last_seq, one.last_seq)
                self.news.ours.update(dict.fromkeys(one.kinds, one.last_seq))
                if self.news.ears:
                    self.news.tell(one.kinds, one.last_seq)
                _tell(one.outcomes, here)

    def _commit(self, parts: list[Part]) -> list[Group]:
        """One commit for these parts, once that of the group before has ended; the groups that are told by now."""
        ended, outcomes = list[Group](), list[Outcome]()
        try:
            while True:
                try:
                    if parts:
                        self._page.begin([sought for part in parts for sought in part.ahead])
                        outcomes.extend(self._perform(part) for part in parts if not part.answer.cancelled())
                        self._page.flush()
                    if self._under_way:
                        ended.append(self._durable(self._under_way))
                    if parts:
                        self._under_way = self._writing.commit(self._page.last_seq, self._page.kinds)
                    break
                except Exception:
                    if self._under_way:
                        parts = self._that_failed(self._under_way, parts, ended)
                    self._roll_back()
                    if not self._writing.begins_again():
                        raise
                    outcomes.clear()
        except Exception as error:  # whatever it is, nobody may wait for ever
            self._roll_back()
            refusals = {id(part): refusal for part, _, refusal in outcomes if refusal is not None}
            why = meaning_of((isinstance(error, GroupLostError) and error.__cause__) or error)
            lost: list[Outcome] = [(part, None, refusals.get(id(part)) or why) for part in parts]
            return [*ended, Group(parts, lost, 0, frozenset())]
        if parts:
            self._before = Group(parts, outcomes, self._page.last_seq, frozenset(self._page.kinds))
            self._halves = self._under_way is not None
        return ended if not parts or self._under_way else [*ended, self._before]

    def _durable(self, under_way: CommitUnderWay) -> Group:
        """The group before, once its commit has ended. Raises where that failed."""
        under_way.end()
        self._under_way = None
        return self._before

    def _that_failed(self, under_way: CommitUnderWay, parts: list[Part], ended: list[Group]) -> list[Part]:
        """Those with whom something failed: these, or those before, after whom these are performed anew."""
        try:
            ended.append(self._durable(under_way))
        except Exception:
            self._under_way = None
            with self._gate:
                self._parts.extendleft(reversed(parts))
            return self._before.parts
        return parts

    def _perform(self, part: Part) -> Outcome:
        """Run one part; whatever it raises is its own, unless the engine ended the transaction with it."""
        self._page.begin_part()
        transaction = Transaction(self._page)
        try:
            if self._writing.is_careful:
                transaction.open()
            result = part.fn(transaction)
            transaction.finish()
        except BaseException as error:
            if ends_transaction(error) or self._writing.is_unclear or not self._writing.session.in_transaction:
                raise GroupLostError from error
            transaction.undo()
            return part, None, as_told(error)
        finally:
            transaction.end()
        if self._writing.is_unclear or not self._writing.session.in_transaction:  # the part has caught what failed
            raise GroupLostError
        return part, result, None

    def _roll_back(self) -> None:
        self._writing.on_watch = False
        try:
            self._writing.rollback()
        except DATABASE_ERROR:  # the next commit finds out whether the file can be used again
            return


class Database(ReadPool):
    """The books. Any number of processes write to them, in turns; whoever only reads uses `Database.open_reader`."""

    def __init__(
        self,
        engine: BooksEngine,
        schema: Schema,
        writer: GroupWriter,
        *,
        watch: Watch,
        held: ExitStack,
    ) -> None:
        """`held` is closed at the end."""
        super().__init__(engine, schema)
        self.news: Final = writer.news
        self._writer = writer
        self._watch = watch
        self._held = held

    @classmethod
    def open(
        cls, books: Books, clock: Clock, schema: Schema = BOOKS, *, is_durable: bool = True, alone: bool = False
    ) -> "Database":
        """Share the data directory that goes with `books`; create or migrate the database if need be.

        Not durable: nothing waits for the disk, for books that are thrown away, as those of a simulation. `alone`: no
        other process has them, as for a migration.

        Raises `Refused`: `data_directory_in_use` (with the holders' pids) where somebody has the directory alone, or
        shares what is wanted alone; `not_our_database`, `database_too_new`, `books_filling`, `books_moved`; and
        `Unavailable` where the directory cannot be written, the turn does not come or the server does not answer,
        `Broken` if the disk failed or is full.
        """
        home = home_of(books)
        engine = engine_of(books)
        with ExitStack() as stack:
            try:
                home.mkdir(mode=0o700, parents=True, exist_ok=True)
                lock = stack.enter_context(closing(HomeLock(books if isinstance(books, Path) else home / FILE_NAME)))
            except OSError as error:
                raise Unavailable(f"the data directory {home} cannot be used: {why(error)}") from error
            lock.take(alone=alone)
            check_not_moved(books)
            try:
                writing = stack.enter_context(closing(engine.writer(schema, lock.migrating, is_durable=is_durable)))
                news = News()
                watch = stack.enter_context(closing(engine.watch(clock, news)))
                writer = GroupWriter(writing, schema, clock, news)
                return cls(engine, schema, writer, watch=watch, held=stack.pop_all())
            except DATABASE_ERROR as error:
                raise meaning_of(error) from error

    @property
    def last_seq(self) -> int:
        """The number of the newest durable fact; 0 if there is none. Those of other processes show a little later.

        Raises `Broken`, `Unavailable` as a read does.
        """
        if self._closed:
            raise Unavailable("the database is closed")
        return max(self._watch.newest(), self._writer.last_seq)

    def may_hold(self, kinds: Collection[str], after_seq: int) -> bool:
        """Whether there may be a fact of these kinds after that number; True where not all facts are heard of.

        Raises `Broken`, `Unavailable` as a read does.
        """
        return self.last_seq != after_seq and not (self._watch.hears() and self.news.newest_of(kinds) <= after_seq)

    def leads(self, office: str) -> bool:
        """Whether this process does what one does for all, such as sealing. Another takes over when it ends.

        Asked anew before each piece of that work: it may be lost. Who has lost it may still be at work, so what is done
        is guarded by the transaction that records it.
        """
        return not self._closed and self._watch.leads(office)

    async def write(self, fn: Callable[[Transaction], T], *, ahead: Ahead = ()) -> T:
        """What `fn` returns, once everything that it wrote is on the disk.

        `fn` is a plain function without other effects: it runs in the writer's thread, waits for nothing and may run
        again. What it raises is raised here, and nothing of it is kept. A caller that is cancelled before its turn has
        written nothing; later, everything. What it will look for may be told `ahead`, and is then looked for once for
        all who wait.

        Raises `Refused("silent_write")` if rows changed and no fact was recorded, `Refused("statement_not_allowed")`,
        `Unavailable` if too many wait or another program holds the file, `Broken` if the disk failed or is full.
        """
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._writer.put(fn, answer, ahead)
        return await answer

    def put(self, fn: Callable[[Transaction], T], answer: asyncio.Future[T], ahead: Ahead = ()) -> None:
        """As `write`, from within the event loop of `answer`: what `write` would return or raise, that future is told.

        Whether it can be cancelled is for its maker to say.
        """
        self._writer.put(fn, answer, ahead)

    def write_sync(self, fn: Callable[[Transaction], T]) -> T:
        """As `write`, for a caller without an event loop; it waits in the same queue."""
        return self._writer.write_sync(fn)

    def close(self) -> None:
        """Write what waits, wait for reads, and give the data directory back. A second time does nothing."""
        if self._closed:
            return
        self._writer.close()
        super().close()
        self._held.close()


def _tell(outcomes: list[Outcome], here: asyncio.AbstractEventLoop | None) -> None:
    """Answer everybody, each event loop once; who waits `here` need not be woken."""
    by_loop: dict[asyncio.AbstractEventLoop | None, list[Outcome]] = {}
    for outcome in outcomes:
        by_loop.setdefault(outcome[0].loop, []).append(outcome)
    for loop, told in by_loop.items():
        if loop is None or loop is here:
            _answer(told)
        else:
            try:
                loop.call_soon_threadsafe(_answer, told)
            except RuntimeError:  # the loop is closed: nobody waits any more
                continue


def _answer(outcomes: list[Outcome]) -> None:
    for part, result, error in outcomes:
        if part.answer.done():
            continue
        if error is None:
            part.answer.set_result(result)
        else:
            part.answer.set_exception(error)
