#!/usr/bin/python3
"""Builds the packages into build/packages/: a .deb, and a tarball that needs nothing but glibc.

    scripts/package.py [VERSION]    what `muster version` says, unless one is given

Built on Debian 12, both work on 12 and on newer ones; built on 13, on 13 and newer.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "build/packages"
PACKAGING = ROOT / "packaging"
# Debian 12 has no package of these, so the .deb brings them along, for the program alone.
PRIVATE = ("libllhttp", "libyyjson")
# Parts of glibc, which every machine has its own of.
OF_GLIBC = ("ld-linux", "libc.so", "libm.so", "libresolv.so", "libpthread.so", "libdl.so", "librt.so")


def output(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def build():
    subprocess.run(["cmake", "--preset", "package"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "package", "--target", "muster"], cwd=ROOT, check=True)
    return ROOT / "build/package/muster"


def libraries(binary):
    """What the program loads but glibc: name and file."""
    loaded = re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", str(binary)), re.M)
    return {name: Path(path) for name, path in loaded if not name.startswith(OF_GLIBC)}


def put(source, target, mode=0o644):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def put_program(binary, root, names):
    """The program, the libraries of these names, the manual page and the completion."""
    put(binary, root / "bin/muster", 0o755)
    for name, path in libraries(binary).items():
        if name.startswith(names):
            put(path, root / "lib/muster" / name)
    for file in [root / "bin/muster", *(root / "lib/muster").glob("*")]:
        subprocess.run(["strip", "--strip-unneeded", str(file)], check=True)
    man = root / "share/man/man1/muster.1"
    man.parent.mkdir(parents=True, exist_ok=True)
    man.write_text(output(str(binary), "man"))
    subprocess.run(["gzip", "-9n", str(man)], check=True)
    completion = root / "share/bash-completion/completions/muster"
    completion.parent.mkdir(parents=True, exist_ok=True)
    completion.write_text(output(str(binary), "completion", "bash"))


def put_documents(folder):
    """The README, what changed, where Debian expects it too, and docs/ with its pictures. What they
    name of the sources stays as words: its links would lead nowhere."""
    for file in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.*")]:
        put(file, folder / file.relative_to(ROOT))
    for page in folder.rglob("*.md"):
        text = re.sub(r"\[([^]]*)\]\((?![a-z]+:)([^)#\s]+)[^)]*\)",
                      lambda link, page=page: link[0] if (page.parent / link[2]).exists() else link[1],
                      page.read_text())  # fmt: skip
        page.write_text(text)
    put(ROOT / "CHANGELOG.md", folder / "changelog")
    subprocess.run(["gzip", "-9n", str(folder / "changelog")], check=True)


def dependencies(root):
    """What dpkg-shlibdeps says of the program, less what the package brings along."""
    with tempfile.TemporaryDirectory() as folder:
        control = Path(folder, "debian/control")
        control.parent.mkdir()
        control.write_text("Source: muster\n\nPackage: muster\nArchitecture: any\n")
        owners = [output("dpkg", "-S", f"*/{path.name}").partition(":")[0]
                  for path in (root / "usr/lib/muster").glob("*")]  # fmt: skip
        without = [f"-x{owner}" for owner in owners]
        said = output("dpkg-shlibdeps", "-O", "--warnings=0", *without, f"{root}/usr/bin/muster", cwd=folder)
    return said.partition("shlibs:Depends=")[2].strip()


def make_deb(binary, version, folder):
    root = folder / "deb"
    put_program(binary, root / "usr", PRIVATE)
    put_documents(root / "usr/share/doc/muster")
    put(PACKAGING / "muster.service", root / "usr/lib/systemd/system/muster.service")
    put(PACKAGING / "muster.conf", root / "etc/muster/muster.conf", 0o640)
    architecture = output("dpkg", "--print-architecture").strip()
    size = sum(file.stat().st_size for file in root.rglob("*") if file.is_file()) // 1024
    values = {"VERSION": version, "ARCHITECTURE": architecture, "SIZE": size, "DEPENDS": dependencies(root)}
    control = (PACKAGING / "deb/control.in").read_text()
    for name, value in values.items():
        control = control.replace(f"@{name}@", str(value))
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/control").write_text(control)
    (root / "DEBIAN/conffiles").write_text("/etc/muster/muster.conf\n")
    for script in ("postinst", "prerm", "postrm"):
        put(PACKAGING / "deb" / script, root / "DEBIAN" / script, 0o755)
    path = OUT / f"muster_{version}_{architecture}.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", str(root), str(path)],
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    return path


def make_tarball(binary, version, folder):
    name = f"muster-{version}-linux-{os.uname().machine}"
    put_program(binary, folder / name, ("lib",))
    put_documents(folder / name / "share/doc/muster")
    for file in ("muster.service", "muster.conf"):
        put(PACKAGING / file, folder / name / "share/muster" / file)
    path = OUT / f"{name}.tar.gz"
    subprocess.run(["tar", "-C", str(folder), "--owner=0", "--group=0", "-czf", str(path), name], check=True)
    return path


def main():
    if len(sys.argv) > 2 or (len(sys.argv) == 2 and not re.fullmatch(r"\d[\w.+~]*", sys.argv[1])):
        sys.exit(__doc__)
    binary = build()
    version = sys.argv[1] if len(sys.argv) == 2 else output(str(binary), "version").split()[1]
    os.umask(0o022)
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for made in (make_deb(binary, version, Path(folder)), make_tarball(binary, version, Path(folder))):
            print(made.relative_to(ROOT))


if __name__ == "__main__":
    main()
