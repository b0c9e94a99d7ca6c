#!/usr/bin/python3
"""Functions and forms that this project does not use, each with what stands in for it."""

import re

from gate import code_of, files_in, line_at, run

EVERYWHERE = ("src", "tests", "bench")
ORACLE = ("tests/unit/base/test_cron.c",)  # compares our time zones with the C library's
SECRET = r"[^;{}]*(?:token|secret|digest|password|hmac|signature)"

# Pattern, folders it holds in, folders it does not, what to use instead.
BANNED = [
    (r"\bv?sprintf\s*\(", EVERYWHERE, (), "snprintf, buf_printf or arena_printf"),
    (r"\bst[rp]n?cpy\s*\(", EVERYWHERE, (), "struct str with arena_copy, or snprintf"),
    (r"\bstrn?cat\s*\(", EVERYWHERE, (), "buf_add"),
    (r"\bstrtok(?:_r)?\s*\(", EVERYWHERE, (), "str_split"),
    (r"\bato(?:i|l|ll|f)\s*\(", EVERYWHERE, (), "str_to_int"),
    (r"\bgmtime(?:_r)?\s*\(", EVERYWHERE, ORACLE, "datetime_split"),
    (r"\blocaltime(?:_r)?\s*\(", EVERYWHERE, ORACLE, "datetime_split: times are UTC"),
    (r"\b(?:clock_gettime|gettimeofday|timespec_get|uv_hrtime|uv_now|time)\s*\(", ("src",),
     ("src/base/clock.c",), "clock_wall_us, clock_mono_us, clock_raw_us or clock_deadline"),
    (r"\bs?rand(?:_r|om)?\s*\(", ("src",), (), "digest_random or digest_random_below"),
    (r"\b(?:malloc|calloc|realloc|strn?dup)\s*\(", ("src",), ("src/base",),
     "NEW, mem_new, mem_resize, mem_strdup or an arena"),
    (r"\b(?:memcmp|strn?cmp|bcmp)\s*\(" + SECRET, ("src",), (),
     "digest_equal, whose time tells nothing"),
    (r"//", EVERYWHERE, (), "/* ... */"),
]  # fmt: skip


def below(where, folders):
    return any(where.is_relative_to(folder) for folder in folders)


def gate(root):
    files = files_in(root, EVERYWHERE, {".c", ".h"})
    problems = [] if files else ["src/: no files to look at"]
    for path in files:
        where = path.relative_to(root)
        code = code_of(path.read_text())
        for pattern, held_in, but_not, instead in BANNED:
            if not below(where, held_in) or below(where, but_not):
                continue
            for match in re.finditer(pattern, code):
                found = match.group().split("(")[0].strip()
                line = line_at(code, match.start())
                problems.append(f"{where}:{line}: {found} is not used here: {instead}")
    return problems, f"{len(files)} files, {len(BANNED)} rules"


if __name__ == "__main__":
    run("banned", gate)
