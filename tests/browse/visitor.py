"""A visitor of the pages: it asks a real server, and reads what comes back strictly."""

import http.client
from contextlib import contextmanager
from html.parser import HTMLParser
from threading import Thread
from urllib.parse import quote, urljoin, urlsplit

from shopwright.pipeline.browse.server import Server

EMPTY = {"meta", "link", "input", "br", "img", "hr"}


class Read(HTMLParser):
    """A page in its parts; raises AssertionError where its tags are not closed in their order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words, self.marked = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open
        ids = [at["id"] for _, at in self.tags if "id" in at]
        assert len(ids) == len(set(ids))
        self.ids = set(ids)
        self.links = [at["href"] for tag, at in self.tags if tag == "a"]

    def handle_starttag(self, tag, attrs):
        at = dict(attrs)
        assert len(at) == len(attrs), f"an attribute twice in {tag}"
        self.tags.append((tag, at))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def all(self, tag):
        return [at for name, at in self.tags if name == tag]


class Visitor:
    """Asks for pages as a browser does, and follows to where they are."""

    def __init__(self, server):
        self.server = server
        self.at = ""

    def ask(self, target, method="GET", **headers):
        """Status, headers and body, of this very address as it is written."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=60)
        connection.putrequest(method, target, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        found = connection.getresponse()
        body = found.read().decode()
        connection.close()
        return found.status, dict(found.headers), body

    def page(self, target, status=200):
        """The page there, read."""
        got, headers, body = self.ask(target)
        self.at = target
        if got == 303:
            return self.page(headers["Location"], status)
        assert got == status, (target, got, Read(body).text)
        assert_harmless(found := Read(body))
        return found

    def follow(self, link):
        split = urlsplit(urljoin(self.at, link))
        return self.page(split.path + (f"?{split.query}" if split.query else ""))

    def filtered(self, name, sql, status=200):
        return self.page(f"/data/{name}?sql={quote(sql)}", status)


def assert_harmless(page):
    """Nothing in it runs but the one script, looks like something of its own accord, or leads elsewhere."""
    assert page.all("script") == [{"src": "/browse.js", "defer": None}]
    for tag, at in page.tags:
        assert tag not in {"style", "object", "embed", "img", "base", "svg"}, tag
        assert not [name for name in at if name.startswith("on") or name == "style"], at
        for name in ("href", "src", "action"):
            assert at.get(name, "/").startswith(("/", "#")), at
            assert not at.get(name, "/").startswith("//"), at
    for at in page.all("label"):
        assert at["for"] in page.ids
    assert len(page.all("h1")) == 1
    assert len(page.all("title")) == 1


@contextmanager
def serve_run(run, other=None):
    with Server(run, other=other) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield Visitor(server)
        server.shutdown()
        thread.join()
