"""Probes of `shopwright browse`: addresses that lead to files, SQL that reads, eats or never ends, and rows that would act in a page."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

from tests.browse.visitor import Read, assert_harmless
from tests.security.probes.common import UP, refuse
from tests.security.probes.servers import Probe, Server, name_command, start
from tests.security.probes.wire import Answer, ask

UNDER = ("/", "/data/", "/data/catalog/", "/data/catalog/0/", "/style.css/", "/find/", "//")
# Of the pages that are read: from each list so many rows.
ROWS = 6
# Bytes that a server and the process of its queries may grow by: the one for queries has 1 GB for data.
GROWTH = 1_600 << 20
READS = (
    "select * from read_csv('{secret}')", "select * from read_text('{secret}')", "select * from read_blob('{secret}')", "select * from '{secret}'",
    "from '{secret}'", 'from "{secret}"', "select * from glob('/*')", "select * from read_parquet('{run}/catalog/*.parquet')", "from '{run}/manifests/catalog.json'",
    "select * from parquet_metadata('{run}/catalog/part-00000.parquet')", "select * from sniff_csv('{secret}')", "select * from read_json('{secret}')",
    "select * from read_ndjson_objects('{secret}')", "id = (select content from read_text('{secret}'))", "id in (from read_csv('{secret}'))",
    "with rows as (from read_csv('{secret}')) select * from rows", "with a as (from '{secret}') select * from a", "select * from rows, '{secret}'",
    "select * from rows join read_csv('{secret}') on true", "select (from read_text('{secret}')) from rows", "select * from query('from read_text(''{secret}'')')",
    "select * from query_table('{secret}')", "select getenv('HOME') from rows", "select current_setting('home_directory') from rows", "select * from duckdb_settings()",
    "select * from duckdb_secrets()", "select * from information_schema.tables", "select * from pragma_version()", "select * from pg_catalog.pg_tables",
    "attach '{secret}' as x", "copy rows to '{run}/stolen.csv'", "copy (from rows) to '{run}/stolen.csv'", "export database '{run}/stolen'", "install httpfs", "load '{run}/x.so'",
    "import database '{run}'", "pragma database_list", "set enable_external_access = true", "reset all", "call pragma_version()", "create table x as from '{secret}'",
    "insert into rows values (1)", "update rows set id = 1", "delete from rows", "drop view rows", "create macro f() as table from '{secret}'", "prepare x as from '{secret}'",
    "describe '{secret}'", "summarize '{secret}'", "explain analyze from '{secret}'", "pivot '{secret}' on a", "select * from rows; from '{secret}'",
    "price > 1; copy rows to '{run}/stolen.csv'", "1=1) union all (from '{secret}'", "1=1 union all by name from '{secret}'", "1=1 --\nfrom '{secret}'", "/*/**/*/ from '{secret}'",
    "select $$ || (from '{secret}') || $$ from rows, '{secret}'", "select * from main.'{secret}'", "select columns(*) from '{secret}'", "from rows positional join '{secret}'",
    "select * from rows asof join '{secret}' using (id)", "values ((from '{secret}'))", "select * from (values (1)) t, lateral (from '{secret}')",
    "SELECT * FROM READ_CSV_AUTO('{secret}')", "select * from rea\u0064_csv('{secret}')", "select * from U&'{secret}'", "select * from e'{secret}'", "table '{secret}'",
    "select * from st_read('{secret}')", "select * from read_xlsx('{secret}')", "select * from sqlite_scan('{secret}', 'a')", "select * from postgres_scan('', '', '')",
    "select * from 'http://127.0.0.1:1/x.parquet'", "select * from read_csv('https://shop.example/x')", "select write_log('x') from rows", "select nextval('x') from rows",
)  # fmt: skip
EATS = (
    "select repeat('a', 2000000000) from rows", "select lpad('a', 2000000000, 'b') from rows", "select range(1000000000) from rows", "select * from range(100000000000)",
    "select list(a.title || b.title || c.title) from rows a, rows b, rows c, rows d", "select string_agg(a.title || b.title || c.title, ',') from rows a, rows b, rows c, rows d",
    "select count(*) from rows a, rows b, rows c, rows d, rows e, rows f where a.title < b.title and c.title < d.title and e.title <> f.title",
    "select * from rows a, rows b, rows c, rows d order by a.title || b.title || c.title || d.title", "select distinct a.title || b.title || c.title || d.title from rows a, rows b, rows c, rows d",
    "select a.id, row_number() over (order by a.title || b.title || c.title) from rows a, rows b, rows c, rows d", "with recursive a as (select 1 as x union all select x + 1 from a) select * from a",
    "select regexp_matches(title, '(a+)+$') from rows", "regexp_matches(title, '" + "(" * 400 + ")" * 400 + "')", "(" * 900 + "1" + ")" * 900 + " = 1", "not " * 900 + "true", "1" + "+1" * 900 + " > 0",
    "case " + "when 1=2 then 1 " * 200 + "end = 1", "id = '" + "y" * 100_000 + "'", "price > 1 or " * 400 + "price > 2", "select " + ", ".join(["*"] * 400) + " from rows",
    "select [" + "[" * 300 + "1" + "]" * 300 + "] from rows", "select " + "list_transform(" * 50 + "[1]" + ", x -> x)" * 50 + " from rows",
    "select list_transform(list_transform([1,2,3], x -> x), x -> (select count(*) from rows a, rows b, rows c, rows d, rows e)) from rows",
    "with " + ", ".join(f"a{n} as (select * from {'rows' if not n else f'a{n - 1}'} x, {'rows' if not n else f'a{n - 1}'} y)" for n in range(8)) + " select count(*) from a7",
    "select array_to_string(list(title), '') from rows group by grouping sets (" + ", ".join(["()"] * 200) + ")",
    "exists (select 1 from rows a, rows b, rows c, rows d, rows e where a.title = b.title || c.title || d.title || e.title)",
)  # fmt: skip


@contextmanager
def start_browse(run: Path, folder: Path) -> Iterator[Server]:
    with start("browse", name_command("browse", str(run)), run, folder, page="/", post="/", sockets=("/ws",)) as server:
        yield server


def list_browse_probes(server: Server) -> Iterator[Probe]:
    yield from list_address_probes(server)
    yield from list_sql_probes(server, READS, "SQL reads")
    yield Probe("page", "every page of hostile rows, and its headers", lambda: find_active_page(server))
    for words in ACTIVE:
        for target in (
            f"/find?q={quote(words)}",
            f"/data/catalog?sql={quote(words)}",
            f"/data/{quote(words, safe='')}",
            f"/data/catalog/id?is={quote(words)}",
        ):
            yield Probe("echo", target[:60], lambda target=target: find_active(ask(server.port, target)))


ACTIVE = (
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "javascript:alert(1)", "<svg onload=alert(1)>", "'-alert(1)-'", "{{ 6521 * 7919 }}", "</title><script>", "=HYPERLINK(\"http://shop.example\")",
)  # fmt: skip


def list_address_probes(server: Server) -> Iterator[Probe]:
    file = str(server.secret).lstrip("/")
    for up in UP:
        for under in UNDER:
            targets = [under + f"{up}/" * 12 + file, under + f"{up}/" * 2 + "manifests/catalog.json"]
            yield Probe("traversal", f"{under}{up}", lambda targets=targets: find_file(server, targets))
    for target in (f"/{server.secret}", f"//{server.secret}", f"/{quote(str(server.secret), safe='')}", f"file://{server.secret}", f"/data/{quote(str(server.secret), safe='')}",
                   "/style.css%00.html", "/style.css/../server.py", "/server.py", "/base.html.j2", "/data/catalog%00", f"/report?path={server.secret}", f"/find?q=a&run={server.secret.parent}",
                   f"/data/catalog?run={server.secret.parent}", f"/diff/{quote(str(server.secret), safe='')}", "/data/catalog/-1", "/data/catalog/999999999999", "/data/catalog/0x1"):  # fmt: skip
        yield Probe("traversal", target[:60], lambda target=target: find_file(server, [target]))


def find_file(server: Server, targets: list[str]) -> str:
    for target in targets:
        found = ask(server.port, target)
        if '"sha256' in found.text or "\nimport " in found.text or found.status == 500:
            return f"{target} was answered {found.status}"
        if why := refuse(found, 200, 303, 400, 404):
            return f"{target}: {why}"
    return ""


def list_sql_probes(server: Server, texts: tuple[str, ...], group: str) -> Iterator[Probe]:
    for text in texts:
        sql = text.replace("{secret}", str(server.secret)).replace("{run}", str(server.run))
        yield Probe(group, text[:60], lambda sql=sql: find_sql(server, sql))


def list_heavy_probes(server: Server) -> Iterator[Probe]:
    yield from list_sql_probes(server, EATS, "SQL eats")


def find_sql(server: Server, sql: str) -> str:
    before = server.memory
    found = ask(server.port, f"/data/catalog?sql={quote(sql)}")
    if why := refuse(found, 200, 400, 414):
        return why
    if (server.run / "stolen.csv").exists() or (server.run / "stolen").exists():
        return "it wrote a file"
    if server.memory - before > GROWTH:
        return f"it grew by {server.memory - before >> 20} MB"
    return server.is_well()


def find_active(found: Answer) -> str:
    """What could act in a page."""
    if found.status == 303:
        return (
            ""
            if found.headers["location"].startswith("/") and not found.headers["location"].startswith("//")
            else "it leads elsewhere"
        )
    if why := find_weak_header(found):
        return why
    if not found.headers["content-type"].startswith("text/html"):
        return (
            ""
            if found.headers["content-type"].startswith(("application/json", "text/css", "text/javascript", "image/"))
            else "of no known kind"
        )
    try:
        page = Read(found.text)
        if "style-src 'sha256-" not in found.headers["content-security-policy"]:
            assert_harmless(page)
        elif page.all("script") or [name for _, at in page.tags for name in at if name.startswith("on")]:
            return "a script in the report"
    except AssertionError as error:
        return f"something in it acts: {error}"
    return ""


def find_weak_header(found: Answer) -> str:
    policy = found.headers.get("content-security-policy", "")
    strict = "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    if not strict or found.headers.get("x-content-type-options") != "nosniff":
        return f"headers: {found.headers}"
    return ""


def find_active_page(server: Server) -> str:
    """Of all pages that links lead to, from the first on: a few of each list."""
    seen, waiting, met = set(), ["/", "/report", "/find?q=script"], Counter[str]()
    while waiting:
        target = waiting.pop()
        kind = "/".join(part for part in urlsplit(target).path.split("/")[:4] if not part.isdecimal())
        if target in seen or met[kind] >= ROWS:
            continue
        met[kind] += 1
        seen.add(target)
        found = ask(server.port, target)
        if found.status == 500:
            return f"{target} was answered 500"
        if why := find_active(found):
            return f"{target}: {why}"
        if found.headers.get("content-type", "").startswith("text/html"):
            waiting += [urljoin(target, link) for link in Read(found.text).links if not link.startswith("#")]
    return "" if len(seen) > 20 else f"only {len(seen)} pages were found"
