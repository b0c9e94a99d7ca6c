"""Does an answer ever leave before what it acknowledges is on the disk? By a record of calls.

Invariants that are checked, in the order in which strace saw the calls begin and end:
 1. A row is in the log when its frame was written, and so was the frame that commits it.
 2. It is durable when an fdatasync of the log that began after that returned 0.
 3. A 202 begins to leave only when every id in it is durable.

Ids are UUIDs: whatever looks like one in a page or in an answer's body is one of ours. strace stops
a thread before it shows that a call begins, and after it ended, so a call that waited for another
is always recorded behind it.
"""

import re

CALLS = "pwrite64,fdatasync,write,writev,sendmsg,sendto"
OPTIONS = ("-y", "-xx", "-s", "1000000", "-e", f"trace={CALLS}")

LINE = re.compile(r"^(?:\[pid +(?P<pid>\d+)\] )?(?P<rest>.*)$", re.S)
BEGUN = re.compile(r"^(?P<call>\w+)\((?P<fd>\d+)<(?P<file>[^>]*)>(?P<arguments>.*)$", re.S)
RESUMED = re.compile(r"^<\.\.\. \w+ resumed>(?P<rest>.*)$", re.S)
RESULT = re.compile(r"\)\s+= (-?\d+)[^=]*$")
TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
UUID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FRAME_HEADER = 24  # bytes; the second word is not zero in the frame that commits
PAGE = 4096


def bytes_of(arguments):
    """All strings of a call, in one."""
    return b"".join(bytes.fromhex(t.replace("\\x", "")) for t in TEXT.findall(arguments))


class Checker:
    """Takes the lines one by one; `early` are the ids of answers that left too early."""

    def __init__(self):
        self.under_way = {}  # thread: (call, file, data, what the sync covers)
        self.written = set()  # of the transaction that is being written
        self.commits = False  # the next page completes it
        self.in_log = set()  # committed, not synced
        self.durable = set()
        self.answers = self.syncs = 0
        self.early = []

    def take(self, line):
        found = LINE.match(line)
        thread, rest = found["pid"], found["rest"]
        resumed = RESUMED.match(rest)
        if resumed:
            self.end(thread, resumed["rest"])
            return
        begun = BEGUN.match(rest)
        if not begun:
            return
        self.begin(thread, begun)
        if "<unfinished ...>" not in rest[-40:]:
            self.end(thread, rest)

    def begin(self, thread, begun):
        call, file = begun["call"], bytes.fromhex(begun["file"].replace("\\x", "")).decode()
        data = bytes_of(begun["arguments"])
        if file.startswith(("socket:", "TCP:", "UNIX")):
            self.leave(data)
        self.under_way[thread] = (call, file, data, set(self.in_log))

    def end(self, thread, rest):
        call, file, data, covered = self.under_way.pop(thread, (None, "", b"", set()))
        result = RESULT.search(rest)
        if not file.endswith("-wal") or not result or int(result[1]) < 0:
            return
        if call == "fdatasync":
            self.syncs += 1
            self.durable |= covered
            self.in_log -= covered
        elif len(data) == FRAME_HEADER:
            self.commits = data[4:8] != b"\0\0\0\0"
        elif len(data) >= PAGE:
            self.written |= set(UUID.findall(data))
            if self.commits:
                self.in_log |= self.written
                self.written = set()

    def leave(self, data):
        """An answer begins to leave; several may share one call."""
        for answer in data.split(b"HTTP/1.1 ")[1:]:
            head, _, body = answer.partition(b"\r\n\r\n")
            if head.startswith(b"202"):
                ids = set(UUID.findall(body))
                assert ids, f"an answer without ids: {answer[:300]}"
                self.answers += 1
                self.early += sorted(ids - self.durable)


def check(lines):
    checker = Checker()
    for line in lines:
        checker.take(line)
    return checker
