"""What the licences of the sources allow, and how the Hub calls them."""

import re
from collections.abc import Sequence

# The Hub's name -> how a licence that lets adapted data be published is written.
OPEN = {
    "apache-2.0": r"apache([- ]licen[cs]e)?([- ]?v?(ersion )?2(\.0)?)?",
    "mit": r"mit( licen[cs]e)?",
    "bsd-2-clause": r"bsd-2-clause",
    "bsd-3-clause": r"bsd-3-clause",
    "cc0-1.0": r"cc0([- ]?1\.0)?",
    "cc-by-3.0": r"cc[- ]by[- ]3\.0",
    "cc-by-4.0": r"cc[- ]by([- ]4\.0)?",
    "cc-by-sa-3.0": r"cc[- ]by[- ]sa[- ]3\.0",
    "cc-by-sa-4.0": r"cc[- ]by[- ]sa([- ]4\.0)?",
    "cc-by-nc-4.0": r"cc[- ]by[- ]nc([- ]4\.0)?",
    "cc-by-nc-sa-4.0": r"cc[- ]by[- ]nc[- ]sa([- ]4\.0)?",
    "odc-by": r"odc[- ]by([- ]1\.0)?",
    "odbl": r"odbl([- ]1\.0)?",
    "pddl": r"pddl([- ]1\.0)?",
    "cdla-permissive-1.0": r"cdla[- ]permissive[- ]1\.0",
    "cdla-permissive-2.0": r"cdla[- ]permissive([- ]2\.0)?",
    "cdla-sharing-1.0": r"cdla[- ]sharing([- ]1\.0)?",
}
# Signs of a licence that keeps adapted data from being published.
CLOSED = re.compile(
    r"\bnd\b|no[- ]?deriv|all rights reserved|proprietary|confidential|internal|"
    r"(no|not|non|without)[- ](for )?(re-?)?(distribut|publi|shar)"
)


def hub_name(licence: str) -> str:
    """The Hub's name of a licence, `unknown` where the source names none, else `other`.

    >>> hub_name("Apache 2.0"), hub_name("CC-BY-SA 4.0"), hub_name(""), hub_name("Shop Licence 3")
    ('apache-2.0', 'cc-by-sa-4.0', 'unknown', 'other')
    """
    said = normalize_licence(licence)
    if said in ("", "unknown", "none", "other", "n/a"):
        return "unknown"
    return next((name for name, form in OPEN.items() if re.fullmatch(form, said)), "other")


def hub_licence(licences: Sequence[str]) -> str:
    """Of a dataset made from sources with these licences: theirs where they agree, else `other`.

    >>> hub_licence(["Apache-2.0"]), hub_licence(["Apache-2.0", "MIT"]), hub_licence([])
    ('apache-2.0', 'other', 'unknown')
    """
    names = {hub_name(each) for each in licences}
    return names.pop() if len(names) == 1 else "other" if names else "unknown"


def forbids(licence: str) -> str:
    """Why what is under this licence cannot be published; empty where it can.

    >>> forbids("Apache-2.0"), forbids("CC BY-NC-ND 4.0")
    ('', "its licence 'CC BY-NC-ND 4.0' forbids publishing what is made from it")
    """
    name = hub_name(licence)
    if name == "unknown":
        return (
            "its licence is unknown, so nothing allows publishing what is made from it; if it is yours to publish, build "
            "its catalog with --licence NAME, a name of the SPDX list as CC-BY-4.0"
        )
    if name == "other" and CLOSED.search(normalize_licence(licence)):
        return f"its licence {licence!r} forbids publishing what is made from it"
    if name == "other":
        return f"its licence {licence!r} is none that is known to allow publishing what is made from it"
    return ""


def normalize_licence(licence: str) -> str:
    return " ".join(re.sub(r"[_\s-]+", " ", licence.lower()).split()).replace("cc by", "cc-by").strip()
