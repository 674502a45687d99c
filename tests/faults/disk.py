"""A disk that is full: a build in a file system of its own, of so many kilobytes, which is made larger afterwards.

    unshare --user --map-root-user --mount python -m tests.faults.disk BASE DATASET FOLDER KILOBYTES

prints as JSON what the build said and what a second one gives when there is room, and leaves the run in FOLDER.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.faults.builds import Case, Forge

ALONE = ("unshare", "--user", "--map-root-user", "--mount")


def available():
    """Whether this machine lets its users mount; containers often do not."""
    if not shutil.which("unshare"):
        return False
    words = [*ALONE, "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /tmp"]
    return subprocess.run(words, check=False, capture_output=True).returncode == 0


def main(base, name, folder, kilobytes):
    case, forge = Case(base, name), Forge()
    disk = Path(folder).parent / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", disk], check=True)
    run = case.copied(disk / "run")
    used = int(subprocess.check_output(["du", "-sk", disk]).split()[0])
    subprocess.run(["mount", "-o", f"remount,size={used + int(kilobytes)}k", disk], check=True)
    first = forge.begin(run, name, **case.settings)
    told = {"code": first.ended(), "said": first.said.read_text()}
    subprocess.run(["mount", "-o", "remount,size=1g", disk], check=True)
    second = forge.begin(run, name, **case.settings)
    told |= {"then": second.ended(), "then_said": second.said.read_text()}
    forge.close()
    shutil.copytree(run, folder)
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
