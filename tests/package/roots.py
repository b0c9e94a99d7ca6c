"""Fresh Debian roots, made from the machine's own Debian source."""

import re
import subprocess
from pathlib import Path

SUITES = {"12": "bookworm", "13": "trixie"}


def debian_source():
    texts = [path.read_text() for path in Path("/etc/apt").glob("sources.list.d/*.sources")]
    uris = re.findall(r"^URIs: *(\S+)", "\n".join(texts), re.M)
    texts = [path.read_text() for path in Path("/etc/apt").glob("sources.list*") if path.is_file()]
    uris += re.findall(r"^deb +(?:\[[^]]*\] *)?(\S+)", "\n".join(texts), re.M)
    return next(uri for uri in uris if "security" not in uri)


def make_root(version, target):
    """A folder, or a tar archive if its name says so."""
    suite = SUITES[version]
    subprocess.run(["mmdebstrap", "--variant=minbase", "--quiet", suite, str(target),
                    f"deb {debian_source()} {suite} main"], check=True)  # fmt: skip
