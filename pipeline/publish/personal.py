"""Personal data in texts, by form: mail addresses, telephones, cards, bank accounts and streets."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

# Country -> letters of an account number.
IBANS = {
    "AD": 24, "AE": 23, "AT": 20, "BE": 16, "BG": 22, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20, "ES": 24,
    "FI": 18, "FR": 27, "GB": 22, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IS": 26, "IT": 27, "LI": 21, "LT": 20,
    "LU": 20, "LV": 21, "MC": 27, "MT": 31, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24, "SA": 24, "SE": 24, "SI": 19,
    "SK": 24, "TR": 26,
}  # fmt: skip
# Domains that are kept free for examples (RFC 2606).
NOBODYS = re.compile(r"(^|[.@])(example|test|invalid|localhost)(\.(com|net|org))?$")
# Mailboxes of a house and not of a person.
OFFICES = frozenset(
    "admin care contact customerservice help hello info mail marketing noreply no-reply office orders press returns sales "
    "service shop support team warranty webmaster".split()
)
TOLL_FREE = frozenset("800 833 844 855 866 877 888".split())
CARDS = re.compile(
    r"4\d{15}|5[1-5]\d{14}|2(22[1-9]|2[3-9]|[3-6]|7[01]|720)\d+|3[47]\d{13}|6(011|5|4[4-9])\d+|35[2-8]\d+"
)
STREETS = (
    r"(?:Street|St\.?|Avenue|Ave\.?|Road|Rd\.?|Lane|Ln\.?|Drive|Dr\.?|Boulevard|Blvd\.?|Court|Ct\.?|Terrace|Place|Way)"
)


@dataclass(frozen=True)
class Form:
    """One kind of personal data and how it is written."""

    name: str
    sieve: str
    """Cheap, for whole columns: where it does not match there is none."""
    written: re.Pattern[str]
    real: Callable[[str], bool] = bool


def find_personal_data(texts: pa.Array) -> Iterator[tuple[str, str, str]]:
    """Kind, what was found and the text that it stands in, each different text once.

    >>> list(find_personal_data(pa.array(["Write to ann.lee@mailbox.org", "Write to support@mailbox.org", None])))
    [('a mail address', 'ann.lee@mailbox.org', 'Write to ann.lee@mailbox.org')]
    """
    each = pc.unique(texts.drop_null())
    for form in FORMS:
        for text in each.filter(pc.match_substring_regex(each, form.sieve)).to_pylist():
            yield from ((form.name, hit[0], text) for hit in form.written.finditer(text) if form.real(hit[0]))


def is_somebodys(mail: str) -> bool:
    """
    >>> [is_somebodys(mail) for mail in ("ann@lee.name", "Info@lee.name", "ann@example.com", "ann@shop.example")]
    [True, False, False, False]
    """
    name, _, domain = mail.lower().rpartition("@")
    return name not in OFFICES and not NOBODYS.search(domain)


def is_telephone(number: str) -> bool:
    """Not those that films use, and not those of a house.

    >>> [is_telephone(number) for number in ("(212) 664-7665", "212-555-0123", "1-800-664-7665", "+49 30 901820")]
    [True, False, False, True]
    """
    digits = only_digits(number)
    if number.startswith("+") and not number.startswith("+1"):
        return 9 <= len(digits) <= 15
    digits = digits.removeprefix("1")
    if len(digits) != 10 or digits[:3] in TOLL_FREE or digits[3:8] == "55501":
        return False
    return min(digits[0], digits[3]) > "1"


def is_card(number: str) -> bool:
    """By its first digits and its check digit (Luhn).

    >>> is_card("4929 1234 5678 9010"), is_card("4929 1234 5678 9011"), is_card("9007199254740993")
    (False, False, False)
    >>> is_card("4539-1488-0343-6467")
    True
    """
    digits = only_digits(number)
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return bool(CARDS.fullmatch(digits)) and not sum(each - 9 * (each > 9) for each in doubled) % 10


def is_account(number: str) -> bool:
    """An IBAN of a country that has them, with the right length and check digits.

    >>> is_account("DE89 3704 0044 0532 0130 00"), is_account("DE88 3704 0044 0532 0130 00")
    (True, False)
    """
    letters = number.replace(" ", "")
    moved = "".join(str(int(each, 36)) for each in letters[4:] + letters[:4])
    return len(letters) == IBANS.get(letters[:2], 0) and int(moved) % 97 == 1


def only_digits(text: str) -> str:
    return re.sub(r"\D", "", text)


# A number that is no part of a longer one, of an id, or of an address on the web.
ALONE, ENDS = r"(?<![\w.,:/#=+-])", r"(?![\w-]|[.,:]\d)"
FORMS = (
    Form(
        "a mail address",
        r"[\w+-]@[\w-]+\.[A-Za-z]{2}",
        re.compile(r"(?<![\w./@+-])[\w+-][\w.+-]*@(?:[\w-]+\.)+[A-Za-z]{2,}(?![\w@])"),
        is_somebodys,
    ),
    Form(
        "a telephone number",
        r"\d{3}\)?[-. ]?\d{3}[-. ]\d{4}|\+\d{1,3}[-. (]",
        re.compile(
            rf"(?<![\w.,:/#=-])(?:(?:\+?1[-. ])?(?:\(\d{{3}}\) ?|\d{{3}}[-.])\d{{3}}[-.]\d{{4}}"
            rf"|\+\d{{1,3}}(?:[-. ]\(?\d{{1,5}}\)?){{2,5}}){ENDS}"
        ),
        is_telephone,
    ),
    Form(
        "a card number",
        r"\d{4}[ -]?\d{4,6}[ -]?\d{4,5}",
        re.compile(rf"{ALONE}(?:\d{{4}}([ -]?)\d{{4}}\1\d{{4}}\1\d{{4}}|\d{{4}}([ -]?)\d{{6}}\2\d{{5}}){ENDS}"),
        is_card,
    ),
    Form(
        "a bank account",
        rf"\b({'|'.join(IBANS)})\d{{2}} ?[A-Z0-9]{{4}} ?[A-Z0-9]{{4}}",
        re.compile(
            rf"{ALONE}[A-Z]{{2}}\d{{2}}(?:[A-Z0-9]{{11,27}}|(?: [A-Z0-9]{{4}}){{2,6}}(?: [A-Z0-9]{{1,4}})?){ENDS}"
        ),
        is_account,
    ),
    Form(
        "a street address",
        rf"\d (?:[A-Z][a-z]+ ){{1,3}}{STREETS}|(straße|strasse|weg|platz|allee|gasse) \d+[a-z]?, \d{{5}} ",
        re.compile(
            rf"(?<![\w.,:/#$-])\d{{1,5}} (?:[A-Z][a-z]+ ){{1,3}}{STREETS}(?![a-z])"
            r"(?:,? (?:Apt|Suite|Unit)\.? #?\w+|,? [^\d\n]{0,40}?\b(?:[A-Z]{2},? \d{5}|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}))\b"
            r"|\b[A-ZÄÖÜ]\w*(?:straße|strasse|weg|platz|allee|gasse) \d{1,4}[a-z]?, \d{5} [A-ZÄÖÜ]\w+"
        ),
    ),
)
