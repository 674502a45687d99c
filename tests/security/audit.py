"""Asks OSV for known vulnerabilities of what `constraints.txt` pins, by pip-audit: part of `make check`.

    python -m tests.security.audit
    python -m tests.security.audit --required     # before a release: make audit

Exit 1 with a line for each finding, 0 where there is none. Where the service cannot be asked, as on a machine without a network, one line and
0; with --required 1. First it is asked of a release that is known to be vulnerable: a mirror that answers "nothing" to everything is no service. What we
know of and live with for a while stands in `ignored.toml`: an id, why, and until when.
"""

import json
import os
import subprocess
import sys
import tomllib
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

HERE = Path(__file__).parent
HOME = HERE.parents[1]
OSV = "https://api.osv.dev/v1/query"
KNOWN = {"package": {"name": "jinja2", "ecosystem": "PyPI"}, "version": "2.4.1"}
"""Has been vulnerable since 2014 (GHSA-8r7q-cvjq-x353)."""
SECONDS = 10
FIELDS = {"id": str, "why": str, "until": date}


class Broken(Exception):
    """The audit could not be made, and nobody can say that nothing was found."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        ignored = read_ignored(options.ignored)
        if why := silent(options.osv):
            print(f"audit: not made, the vulnerability service could not be asked: {why}")
            return int(options.required)
        told = ask_pip_audit(options.constraints, options.osv)
        found = list(complaints(told, ignored, options.today))
    except Broken as error:
        print(f"audit: error: {error}", file=sys.stderr)
        return 1
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    passed = sum("vulns" in each for each in told)
    print(f"audit: {passed} of {len(told)} packages known to the service, {len(found)} to be mended")
    return 1 if found else 0


def parser() -> ArgumentParser:
    found = ArgumentParser("python -m tests.security.audit", description=__doc__)
    found.add_argument("--constraints", type=Path, default=HOME / "constraints.txt")
    found.add_argument("--ignored", type=Path, default=HERE / "ignored.toml")
    found.add_argument("--required", action="store_true", help="fail where the service cannot be asked")
    found.add_argument("--osv", default=os.environ.get("PIP_AUDIT_OSV_URL", OSV), help="the service's address")
    found.add_argument("--today", type=date.fromisoformat, default=date.today())
    return found


def silent(osv: str) -> str:
    """Why the service is none; empty where it tells of a vulnerability that everybody knows."""
    try:
        with urlopen(Request(osv, json.dumps(KNOWN).encode()), timeout=SECONDS) as reply:
            return "" if json.load(reply).get("vulns") else "it knows no vulnerability at all"
    except (OSError, ValueError, AttributeError) as error:
        return " ".join(str(error).split())[:200]


def ask_pip_audit(constraints: Path, osv: str) -> list[dict[str, Any]]:
    """What pip-audit tells of each package. Raises Broken where it does not come to its end."""
    if find_spec("pip_audit") is None:
        raise Broken("pip-audit is not installed: make setup")
    words = ["-r", str(constraints), "--no-deps", "--disable-pip", "--aliases", "on", "--desc", "off"]
    words += ["-s", "osv", "--osv-url", osv, "-f", "json", "--progress-spinner", "off", "--timeout", str(SECONDS)]
    done = subprocess.run([sys.executable, "-m", "pip_audit", *words], check=False, capture_output=True, text=True)
    try:
        found: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, LookupError, TypeError):
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise Broken(f"pip-audit stopped in the midst: {last[:300]}. Run it again.") from None
    if not found:
        raise Broken(f"{constraints} pins nothing.")
    return found


def complaints(told: Sequence[dict[str, Any]], ignored: dict[str, date], today: date) -> Iterator[str]:
    for each in told:
        for one in each.get("vulns", ()):
            names = {one["id"], *one.get("aliases", ())}
            until = max((ignored[name] for name in names & ignored.keys()), default=None)
            if until is None or until < today:
                yield complaint(each, one, until)


def complaint(package: dict[str, Any], one: dict[str, Any], until: date | None) -> str:
    fixed = ", ".join(one.get("fix_versions") or ()) or "no release yet"
    over = f" It was ignored until {until}." if until else ""
    also = ", ".join(sorted(one.get("aliases", ())))
    name = f"{one['id']} ({also})" if also else one["id"]
    return (
        f"audit: {package['name']} {package['version']}: {name}; mended in {fixed}.{over} Raise it in constraints.txt (and the range in "
        "pyproject.toml), or say in tests/security/ignored.toml why it does no harm here and until when."
    )


def read_ignored(path: Path) -> dict[str, date]:
    """Until when each id is ignored. Raises Broken where an entry has no reason or no end."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("ignored", [])
    except (OSError, ValueError) as error:
        raise Broken(f"{path}: {error}") from None
    for each in entries:
        if set(each) != set(FIELDS) or not all(
            isinstance(each[name], kind) and each[name] for name, kind in FIELDS.items()
        ):
            raise Broken(f"{path}: an entry is id, why and until (a date): {each}")
    return {each["id"]: each["until"] for each in entries}


if __name__ == "__main__":
    sys.exit(main())
