"""Counts what an agent in exported conversations uses and had not been shown. It reads their messages and nothing else.

What kinds of things there are called, anybody may know: those are the words behind `category:` on any page of any conversation.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

WORDS = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]+")
KIND = re.compile(r"(?:category: |类目：)([^\[\n]+?)(?= \[SEP\]|\n|$)")
QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”')
Messages = list[Mapping[str, Any]]


def split_text(text: str) -> list[str]:
    return WORDS.findall(text.lower())


def list_forms(words: Iterable[str]) -> set[str]:
    """Each with and without the end of a plural."""
    return {form for word in words for form in (word, word.removesuffix("s"), word.removesuffix("es"))}


def collect_kinds(conversations: Iterable[Messages]) -> set[str]:
    shown = (message["content"] for messages in conversations for message in messages if message["role"] == "tool")
    return list_forms(word for text in shown for kind in KIND.findall(text) for word in split_text(kind))


def list_unseen_uses(messages: Messages, kinds: set[str]) -> Iterator[str]:
    """Words of searches, things that are clicked, numbers of questions, and what thoughts quote or count."""
    text, offered = "", list[str]()
    for message in messages[1:]:
        if message["role"] == "assistant":
            seen = list_forms(split_text(text))
            for call in message.get("tool_calls") or ():
                yield from check_call(call["function"], text, seen | kinds, offered)
            quoted = " ".join(one or other for one, other in QUOTED.findall(message["content"]))
            numbers = [word for word in split_text(message["content"]) if word[0].isdigit()]
            for word in (*split_text(quoted), *numbers):
                if not is_known(word, text, seen):
                    yield f"thinks {word!r}"
        else:
            text += "\n" + message["content"].lower()
            if facts := re.search(r'\{"clickable": .*\}$', message["content"]):
                offered = json.loads(facts[0])["clickable"]


def check_call(call: Mapping[str, Any], text: str, known: set[str], offered: list[str]) -> Iterator[str]:
    (given,) = call["arguments"].values()
    if call["name"] == "click":
        if given.lower() not in offered:
            yield f"clicks {given!r}"
        return
    for word in split_text(given):
        if not is_known(word, text, known) and (call["name"] == "search" or word[0].isdigit()):
            yield f"says {word!r}"


def is_known(word: str, text: str, known: set[str]) -> bool:
    """Chinese stands without spaces: there its pairs of letters count."""
    if word.isascii():
        return bool(list_forms([word]) & known)
    return all(pair in text or pair in "".join(known) for pair in map("".join, pairwise(word)))
