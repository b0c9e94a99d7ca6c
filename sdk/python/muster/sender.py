"""The background thread that sends what is in the queues, and does the agent's other errands.

Reports never wait for it and never fail because of it. It sends a queue when enough reports wait
or the oldest has waited long enough; after a failure it waits a random time that doubles with each
further failure (full jitter). When the service asks for a pause with Retry-After, everything
pauses: it speaks of the key, not of the request. When the service refuses the key or the address,
that is said once, the queues keep what they have, and it is tried again when the key changes, and
every two minutes.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional

from .delivery import Tell, deliver_events, deliver_reports
from .errors import Problem, Refused, Unavailable
from .spool import Chunk, Spool
from .transport import Transport

log = logging.getLogger("muster")

BACKOFF_FIRST_S, BACKOFF_MAX_S = 1.0, 60.0
CHUNK_LINES, CHUNK_BYTES = 1000, 1 << 20  # of one request, when many reports wait
ADOPT_EVERY_S = 30.0
REFUSED_LOOK_EVERY_S = 5.0  # for a new key in the key file
REFUSED_AGAIN_S = 120.0  # an address or a right may be mended while the agent runs


@dataclass
class Backoff:
    """When to try again."""

    failures: int = 0
    not_before: float = 0.0

    def failed(self, now: float, retry_after: float = 0.0) -> None:
        ceiling = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2.0**self.failures)
        self.failures = min(self.failures + 1, 16)
        self.not_before = now + retry_after + random.uniform(0.0, ceiling)

    def succeeded(self) -> None:
        self.failures, self.not_before = 0, 0.0


@dataclass
class Lane:
    """A queue and how to empty it."""

    queue: Spool
    deliver: Callable[[Transport, Chunk, Tell], int]
    full: int  # reports that are worth a request at once
    linger: float  # seconds after which fewer are, too
    backoff: Backoff = field(default_factory=Backoff)
    chunk: Optional[Chunk] = None  # out for delivery, partly settled
    lost_told: int = 0

    def due_at(self, hurry: bool) -> float:
        """When to send, by the monotonic clock; infinite: there is nothing to send."""
        waiting, since = self.queue.waiting()
        if not waiting:
            return float("inf")
        when = 0.0 if hurry or waiting >= self.full else since + self.linger
        return max(when, self.backoff.not_before)


@dataclass
class Errand:
    """Something else to do now and then. It returns the seconds until the next time, or None."""

    work: Callable[[], Optional[float]]
    due: float = 0.0
    blocks_flush: bool = False
    backoff: Backoff = field(default_factory=Backoff)
    complained: str = ""  # the last error that was logged

    def due_at(self) -> float:
        return max(self.due, self.backoff.not_before)


def event_lane(queue: Spool) -> Lane:
    return Lane(queue, deliver_events, full=100, linger=2.0)


def report_lane(queue: Spool) -> Lane:
    """Waits longer: reports of one run merge into one request while they wait."""
    return Lane(queue, deliver_reports, full=1000, linger=5.0)


class Sender:
    """One per agent and process. The thread starts with the first report."""

    def __init__(self, transport: Transport, lanes: List[Lane], tell: Tell) -> None:
        self.transport, self.lanes, self.tell = transport, lanes, tell
        self.errands: List[Errand] = [Errand(self._adopt, due=time.monotonic() + ADOPT_EVERY_S)]
        self.refusal: Optional[Refused] = None
        self.sent = self.retries = 0
        self._refused_until = self._pause_until = 0.0
        self._refusal_told = ""  # what was said of the refusal that lasts
        self._hurry_until = 0.0
        self._closing = self._nudged = False
        self._away = False
        self._thread: Optional[threading.Thread] = None
        self._changed = threading.Condition()

    def wake(self) -> None:
        """There is something to do; starts the thread when there is none."""
        with self._changed:
            if self._thread is None and not self._closing:
                thread = threading.Thread(target=self._work, name="muster-sender", daemon=True)
                self._thread = thread  # before its start, which a signal handler may interrupt
                try:
                    thread.start()
                except RuntimeError:  # the interpreter is shutting down: flush() works alone
                    self._thread = None
            self._nudged = True
            self._changed.notify_all()

    def _work(self) -> None:
        while not self._closing:
            with self._changed:
                self._nudged = False
                hurry = time.monotonic() < self._hurry_until
            try:
                pause = self.turn(hurry)
            except Exception:  # whatever it is, the agent must not notice, and reports must go on
                log.exception("muster: unexpected error in the background sender")
                pause = BACKOFF_MAX_S
            with self._changed:
                self._changed.notify_all()  # flush() may be waiting for this
                if pause > 0 and not self._nudged and not self._closing:
                    self._changed.wait(min(pause, ADOPT_EVERY_S))
        self._close_queues()

    def _close_queues(self) -> None:
        for lane in self.lanes:
            lane.queue.close()

    def turn(self, hurry: bool) -> float:
        """Does what is due; returns the seconds until something else is."""
        if self.refusal is not None and not self._worth_another_try():
            return REFUSED_LOOK_EVERY_S
        for errand in list(self.errands):
            if self.refusal is None and time.monotonic() >= max(errand.due_at(), self._pause_until):
                self._run_errand(errand)
        for lane in self.lanes:
            self._tell_lost(lane)
            if self.refusal is None and time.monotonic() >= self._due_at(lane, hurry):
                self._send_chunk(lane)
        if self.refusal is not None:
            return REFUSED_LOOK_EVERY_S
        waits = [errand.due_at() for errand in self.errands]
        waits += [lane.due_at(hurry) for lane in self.lanes]
        return max(0.0, max(min(waits), self._pause_until) - time.monotonic())

    def _due_at(self, lane: Lane, hurry: bool) -> float:
        return max(lane.due_at(hurry), self._pause_until)

    def _worth_another_try(self) -> bool:
        if not self.transport.keys.reload() and time.monotonic() < self._refused_until:
            return False
        self.refusal = None
        return True

    def _adopt(self) -> Optional[float]:
        for lane in self.lanes:
            lane.queue.adopt()
        return ADOPT_EVERY_S

    def _run_errand(self, errand: Errand) -> None:
        try:
            pause = errand.work()
        except Unavailable as error:
            self._failed(errand.backoff, error)
        except Refused as error:
            self._refuse(error)
        except Exception as error:  # a disk that refuses, say: the lanes go on, and so does it
            errand.backoff.failed(time.monotonic())
            if errand.complained != str(error):
                errand.complained = str(error)
                log.error("muster: %s: %s; trying again", type(error).__name__, error)
        else:
            errand.backoff.succeeded()
            errand.complained = ""
            if pause is None:
                self.errands.remove(errand)
            else:
                errand.due = time.monotonic() + pause

    def _send_chunk(self, lane: Lane) -> None:
        try:
            if lane.chunk is None:
                lane.chunk = lane.queue.read(CHUNK_LINES, CHUNK_BYTES)
            if lane.chunk is None:
                return
            self.sent += lane.deliver(self.transport, lane.chunk, self.tell)
            lane.queue.commit(lane.chunk)
        except Unavailable as error:
            self._failed(lane.backoff, error)
            # of the lanes alone: what an errand is refused, such as too many rotations, is its own
            self._pause_until = max(self._pause_until, time.monotonic() + error.retry_after)
        except Refused as error:
            self._refuse(error)
        except Exception as error:  # a status or an answer that this version does not know: slowly
            lane.backoff.failed(time.monotonic(), BACKOFF_MAX_S)
            self.retries += 1
            log.error("muster: %s: %s; trying again", type(error).__name__, error)
        else:
            lane.chunk = None
            lane.backoff.succeeded()
            self._refusal_told = ""
            if self._away:
                self._away = False
                log.info("muster: the service is back; sending what was kept")

    def _failed(self, backoff: Backoff, error: Unavailable) -> None:
        self.retries += 1
        backoff.failed(time.monotonic(), error.retry_after)
        if not self._away:
            self._away = True
            log.warning("muster: %s; reports are kept and sent later", error)

    def _refuse(self, error: Refused) -> None:
        self.refusal = error
        self._refused_until = time.monotonic() + REFUSED_AGAIN_S
        if self._refusal_told != str(error):
            self._refusal_told = str(error)
            advice = "check the key, the workspace and the url; reports are kept until then"
            self.tell(Problem("refused", f"the service refuses reports ({error}): {advice}"))

    def _tell_lost(self, lane: Lane) -> None:
        with self._changed:
            count = lane.queue.lost - lane.lost_told
            lane.lost_told += count
        if count:
            detail = f"the spool was full: {count} reports, the oldest first, were dropped"
            self.tell(Problem("dropped", detail, [], count))

    def idle(self) -> bool:
        busy = any(lane.queue.waiting()[0] for lane in self.lanes)
        return not busy and not any(errand.blocks_flush for errand in self.errands)

    def flush(self, timeout: float) -> bool:
        """Sends what waits, now; whether everything went out within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        for lane in self.lanes:
            lane.queue.adopt()  # what forked children left
            self._tell_lost(lane)
        with self._changed:
            self._hurry_until = deadline
        if self.idle():
            return True
        self.wake()
        while not self.idle():
            left = deadline - time.monotonic()
            if left <= 0 or self.refusal is not None or self._hopeless(deadline):
                return False
            if self._thread is None:
                time.sleep(min(left, self.turn(hurry=True)))
            else:
                with self._changed:
                    self._changed.wait(min(left, 0.1))
        return True

    def _hopeless(self, deadline: float) -> bool:
        """Whether the next attempt would come too late."""
        due = [lane.due_at(hurry=True) for lane in self.lanes if lane.queue.waiting()[0]]
        due += [each.due_at() for each in self.errands if each.blocks_flush]
        return bool(due) and max(min(due), self._pause_until) > deadline

    def close(self, timeout: float) -> bool:
        """Flushes and ends the thread. What could not be sent stays in the spool."""
        done = self.flush(timeout)
        with self._changed:
            self._closing = True
            thread = self._thread
            self._changed.notify_all()
        if thread is None:
            self._close_queues()
        else:
            thread.join(0.2)  # it may be waiting for an answer, for which this does not wait
        return done

    def counters(self) -> Dict[str, int]:
        return {
            "sent": self.sent,
            "retries": self.retries,
            "dropped": sum(lane.queue.lost for lane in self.lanes),
            "waiting": sum(lane.queue.waiting()[0] for lane in self.lanes),
        }
