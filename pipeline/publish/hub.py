"""Publishing a folder as a dataset on the Hugging Face Hub: everything in one commit, or nothing.

Bytes go up first and nobody sees them; the commit at the end makes them visible in one step. So whatever stops a push leaves
what was there before, and the same push again sends only what is not there yet.

Limits: one commit is what the Hub takes up to some thousand files, far more than there are shards. Of `.gitignore` files in
the dataset the Hub takes notice: what they leave out is missed after the commit, not before.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Any, TypeVar

from shopwright.pipeline.evaluate.progress import report_progress
from shopwright.pipeline.extras import require
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.layout import INDEX, list_laid_paths, read_index_paths

T = TypeVar("T")

TRIES = 5
# Seconds: of waiting, when the Hub asks to wait, and until an answer counts as lost.
PATIENCE = 300.0
# Go up together; in between it can say how far it is.
FILES_AT_A_TIME, BYTES_AT_A_TIME = 100, 250_000_000
# Fewer are there at once.
BYTES_TOLD = 1_000_000
# What a later try may not meet again; 409: another commit is being made.
TRANSIENT_CODES = (408, 409, 429, 500, 502, 503, 504)
REPO = re.compile(r"[\w.-]+/[\w.-]+")
SHARD = re.compile(r"data/(\w+)/\w+-\d{5}-of-\d{5}\.parquet")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Changes:
    """What a push does to the files that are there, by their paths."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)

    @property
    def uploads(self) -> list[str]:
        return sorted([*self.added, *self.changed])

    def __bool__(self) -> bool:
        return bool(self.uploads or self.removed)


@dataclass(frozen=True)
class PushResult:
    """What a push did, or would do."""

    changes: Changes
    url: str
    commit: str = ""
    """That has it now; empty where nothing was to be done, or only to be told."""


@dataclass(frozen=True)
class RemoteState:
    """What the Hub has: a branch at one commit."""

    commit: str
    private: bool
    files: Mapping[str, str]
    """Path -> SHA-256 of large files, Git's SHA-1 of the others."""
    branch: bool = True
    """False: there is no such branch yet, and this is what it will begin with."""


def push(
    folder: Path,
    repo: str,
    *,
    revision: str = "main",
    private: bool = False,
    part: bool = False,
    dry_run: bool = False,
    message: str = "Publish with shopwright",
    endpoint: str | None = None,
    say: Say = lambda line: None,
    wait: Callable[[float], None] = sleep,
    patience: float = PATIENCE,
) -> PushResult:
    """Makes the dataset `repo` hold the files of a folder that was laid, in one commit on a branch.

    Other files there stay, but for shards that were put there so, or that would be read as one of these configs. `part`:
    the folder has only some configs, and is refused where others would be lost. Raises Problem.
    """
    hub = Hub(repo, revision, endpoint=endpoint, say=say, wait=wait, patience=patience, anonymous=dry_run)
    with hub.report_faults():
        there = hub.look(private=private)
        if not dry_run and (there is None or not there.branch):
            there = hub.make(there, private=private)
        mine, before = digests(folder), hub.put_before(there)
        if part:
            refuse_part(repo, mine, before)
        files = there.files if there else {}
        changes = compare_digests(mine, files, before)
        if dry_run or not changes or there is None:
            return PushResult(changes, hub.url)
        additions = hub.upload(folder, changes.uploads)
        return PushResult(changes, hub.url, hub.commit(additions, changes.removed, there, mine, message))


def check(
    repo: str,
    *,
    revision: str = "main",
    private: bool = False,
    dry_run: bool = False,
    endpoint: str | None = None,
) -> None:
    """Whether a push could begin, before anything is laid; a dry run needs no token. Raises Problem."""
    hub = Hub(repo, revision, endpoint=endpoint, anonymous=dry_run)
    with hub.report_faults():
        hub.look(private=private)


def digests(folder: Path) -> dict[str, set[str]]:
    """Every file by its path, with its SHA-256 and its SHA-1 as Git has it: the Hub knows it by one of them."""
    return {path: digests_of(folder / path) for path in [*list_laid_paths(folder), INDEX]}


def digests_of(path: Path) -> set[str]:
    with open(path, "rb") as file:
        return digests_in(file, path.stat().st_size)


def digests_in(file: IO[bytes], size: int) -> set[str]:
    # Git hashes a file with its kind and size before it.
    found = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % size)
    while data := file.read(1 << 20):
        for each in found:
            each.update(data)
    return {each.hexdigest() for each in found}


def compare_digests(mine: Mapping[str, set[str]], there: Mapping[str, str], before: Collection[str] = ()) -> Changes:
    """What would make `there` (path -> digest) hold mine; `before`: paths that were put there by a push.

    >>> changes = compare_digests({"data/a/train-00000-of-00001.parquet": {"new"}}, {
    ...     "data/a/train-00000-of-00002.parquet": "old", "data/b/mine-00000-of-00001.parquet": "x", "notes.txt": "x"})
    >>> changes.added, changes.removed
    (['data/a/train-00000-of-00001.parquet'], ['data/a/train-00000-of-00002.parquet'])
    """
    configs = configs_of(mine)
    left = [path for path in there if path not in mine and config_of(path)]
    return Changes(
        added=[path for path in mine if path not in there],
        changed=[path for path in mine if path in there and there[path] not in mine[path]],
        removed=[path for path in left if path in before or config_of(path) in configs],
        unchanged=[path for path in mine if path in there and there[path] in mine[path]],
    )


def config_of(path: str) -> str:
    """The config whose shard a path is; empty where it is none.

    >>> config_of("data/catalog/train-00000-of-00001.parquet"), config_of("data/catalog/notes.txt")
    ('catalog', '')
    """
    found = SHARD.fullmatch(path)
    return found[1] if found else ""


def configs_of(files: Collection[str]) -> set[str]:
    return {config for path in files if (config := config_of(path))}


def refuse_part(repo: str, mine: Collection[str], before: Collection[str]) -> None:
    others = configs_of(before) - configs_of(mine)
    if others:
        raise Problem(
            f"{repo} has {', '.join(sorted(others))} too, which --only would take away. Publish without --only (what has "
            "not changed is not sent), or choose another --repo."
        )


class Hub:
    """One dataset on the Hub, on one branch, as this machine's token may see it.

    The client's own ways are used where they are safe. They are not where it sends a commit but once and never asks whether it
    arrived, waits for an answer for ever, and sleeps for as long as a server tells it to.
    """

    def __init__(
        self,
        repo: str,
        revision: str = "main",
        *,
        endpoint: str | None = None,
        say: Say = lambda line: None,
        wait: Callable[[float], None] = sleep,
        patience: float = PATIENCE,
        anonymous: bool = False,
    ) -> None:
        """anonymous: without a token it only looks, as anybody may; what it may not see counts as not there."""
        require("huggingface_hub", "Publishing")
        from huggingface_hub import HfApi, get_token

        if not REPO.fullmatch(repo):
            raise Problem(f"--repo is user/name, not {repo!r}.")
        self.repo, self.revision, self.say, self.wait = repo, revision, say, wait
        self.patience = patience
        self.token = get_token()
        self.api = HfApi(endpoint=endpoint, token=self.token or False, library_name="shopwright")
        self.url = f"{self.api.endpoint}/datasets/{repo}"
        if self.token is None and not anonymous:
            raise Problem("There is no token for the Hub. Set HF_TOKEN, or log in once: hf auth login")

    # What is there.

    def look(self, *, private: bool = False) -> RemoteState | None:
        """None for an unknown dataset. `private`: it must not be a public one then."""
        from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

        try:
            there = self.retry(lambda: self.at(self.revision))
        except RevisionNotFoundError:
            main = self.retry(lambda: self.at("main"))
            there = RemoteState(main.commit, main.private, main.files, branch=False)
        except HfHubHTTPError as error:
            # 401 is said of a wrong token too, and of what one must ask to see.
            missing = isinstance(error, RepositoryNotFoundError) and status_of(error) == 404
            if not missing and (self.token or status_of(error) not in (401, 403)):
                raise
            return None
        if private and not there.private:
            raise Problem(
                f"{self.repo} is there already and is public. Make it private at {self.url}/settings, or leave --private out."
            )
        return there

    def at(self, revision: str) -> RemoteState:
        """Raises ValueError where the Hub names files of which its list has nothing: what is not listed would be left there."""
        info = self.api.repo_info(self.repo, repo_type="dataset", revision=revision, timeout=self.patience)
        tree = self.api.list_repo_tree(self.repo, repo_type="dataset", revision=info.sha, recursive=True)
        files = {each.path: each.lfs.sha256 if each.lfs else each.blob_id for each in tree if hasattr(each, "blob_id")}
        if unlisted := {each.rfilename for each in info.siblings or ()} - files.keys():
            raise ValueError(f"its list of files lacks {min(unlisted)}")
        return RemoteState(info.sha, bool(info.private), files)

    def put_before(self, there: RemoteState | None) -> set[str]:
        """The files that a push put there, as its index says. Other bytes than the index's would leave shards behind for good."""
        from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

        if there is None or INDEX not in there.files:
            return set()

        def text() -> str:
            headers = build_hf_headers(token=self.token or False, library_name="shopwright")
            answer = get_session().get(f"{self.url}/resolve/{there.commit}/{INDEX}", headers=headers)
            hf_raise_for_status(answer)
            if there.files[INDEX] not in digests_in(BytesIO(answer.content), len(answer.content)):
                raise ValueError(f"what it gave for {INDEX} is another file")
            return str(answer.text)

        return read_index_paths(self.retry(text)) & set(there.files)

    # What is done.

    def make(self, there: RemoteState | None, *, private: bool) -> RemoteState:
        """The dataset and the branch, where they are missing; a dataset is public only where `private` is not set."""
        named = {"repo_type": "dataset", "exist_ok": True}
        if there is None:
            self.retry(lambda: self.api.create_repo(self.repo, private=private or None, **named))
        if self.revision != "main":
            self.retry(lambda: self.api.create_branch(self.repo, branch=self.revision, **named))
        found = self.look(private=private)
        if found is None:
            raise Problem(f"{self.repo} is there, but this token may not see it. Use another token, or another --repo.")
        return found

    def upload(self, folder: Path, names: Sequence[str]) -> list[Any]:
        """Sends what the Hub has not got yet, to be seen by nobody; what a commit then adds."""
        from huggingface_hub import CommitOperationAdd

        # Hashed here, file by file: it takes a while before anything is sent.
        additions = [CommitOperationAdd(path_in_repo=path, path_or_fileobj=str(folder / path)) for path in names]
        total, sent, began = sum(each.upload_info.size for each in additions), 0, monotonic()

        def line() -> str:
            return f"{self.repo}: {sent / 1e6:,.1f} of {total / 1e6:,.1f} MB are there, {monotonic() - began:,.0f} s"

        with report_progress(line, self.say) if total > BYTES_TOLD else nullcontext():
            for batch in split_additions(additions):
                self.hook_session()
                with explain_odd_answers():
                    self.api.preupload_lfs_files(
                        self.repo, batch, repo_type="dataset", revision=self.revision, free_memory=False
                    )
                sent += sum(each.upload_info.size for each in batch)
        return additions

    def commit(
        self,
        additions: Sequence[Any],
        removed: Sequence[str],
        there: RemoteState,
        mine: Mapping[str, set[str]],
        message: str,
    ) -> str:
        """Makes it all visible in one step, on top of what was looked at; the commit that has it.

        After each miss it looks whether the commit is there all the same: an answer can be lost where a commit is not.
        """
        for tries in range(1, TRIES + 1):
            try:
                made: str = self.commit_once(additions, removed, there, message)
                break
            except client_errors() as error:
                if status_of(error) not in (None, 412, *TRANSIENT_CODES):
                    raise
                now = self.retry(lambda: self.at(self.revision))
                # It arrived, and only the answer was lost.
                if not compare_digests(mine, now.files, removed):
                    return now.commit
                # Somebody else was first; 412 is how the Hub says that the parent is not the latest.
                if now.commit != there.commit or status_of(error) == 412:
                    raise Problem(self.too_late()) from None
                if tries == TRIES:
                    raise
                self.wait(seconds_until_retry(error, tries))
        # A `.gitignore` there makes the Hub drop files without a word.
        if lacking := compare_digests(mine, self.retry(lambda: self.at(made)).files, removed).uploads:
            raise Problem(f"{self.repo} took the commit {made[:7]} but not {lacking[0]}: look into its .gitignore.")
        return made

    def commit_once(self, additions: Sequence[Any], removed: Sequence[str], there: RemoteState, message: str) -> str:
        from huggingface_hub import CommitOperationDelete

        self.hook_session()
        deletions = [CommitOperationDelete(path_in_repo=path, is_folder=False) for path in removed]
        with explain_odd_answers():
            made = self.api.create_commit(
                self.repo,
                [*additions, *deletions],
                commit_message=message,
                repo_type="dataset",
                revision=self.revision,
                parent_commit=there.commit,
            )
            return made.oid

    def retry(self, call: Callable[[], T]) -> T:
        """What comes back, after some tries where that may help: of what may be done twice."""
        for tries in range(1, TRIES + 1):
            self.hook_session()
            try:
                with explain_odd_answers():
                    return call()
            except client_errors() as error:
                if status_of(error) not in (None, *TRANSIENT_CODES) or tries == TRIES:
                    raise
                self.wait(seconds_until_retry(error, tries))
        raise AssertionError("the last try returns or raises")

    # What goes wrong.

    @contextmanager
    def report_faults(self) -> Iterator[None]:
        """Faults come out as one sentence each; the client itself says nothing meanwhile."""
        from huggingface_hub.utils import (
            are_progress_bars_disabled,
            disable_progress_bars,
            enable_progress_bars,
            logging,
        )

        bars, level = not are_progress_bars_disabled(), logging.get_verbosity()
        disable_progress_bars()
        logging.set_verbosity_error()
        try:
            yield
        except client_errors() as error:
            raise self.problem(error) from None
        finally:
            logging.set_verbosity(level)
            if bars:
                enable_progress_bars()

    def hook_session(self) -> None:
        """The client makes itself a new session after some faults, so each time anew."""
        from huggingface_hub.utils import get_session

        session = get_session()
        # The client sets none: a silent server would be waited for without end.
        session.timeout = self.patience
        hooks = session.event_hooks
        others = [each for each in hooks["response"] if getattr(each, "__func__", None) is not Hub.not_too_long]
        session.event_hooks = {**hooks, "response": [*others, self.not_too_long]}

    def not_too_long(self, response: Any) -> None:
        """What the client would wait for, however long that is."""
        seconds = asked_to_wait(response.headers) or 0
        if response.status_code in TRANSIENT_CODES and seconds > self.patience:
            raise Problem(
                f"The Hub asks to wait {seconds:,.0f} s ({response.status_code}). Run the same command again then: what is "
                "uploaded is not sent again."
            )

    def problem(self, error: BaseException) -> Problem:
        """In one sentence, with what to do; never with the token in it."""
        cause = first_cause(error)
        if isinstance(cause, Problem):
            return cause
        code, said = status_of(cause), self.words(cause)
        host = self.api.endpoint
        reasons = {
            401: f"The Hub does not know this token (401: {said}). Set HF_TOKEN to another, or log in: hf auth login",
            403: f"This token may not write to {self.repo} (403: {said}). It needs the right to write there.",
            404: f"There is no {self.repo} at {self.revision} for this token (404: {said}).",
            409: f"{self.repo} is busy with another push (409: {said}). Run the same command again.",
            412: self.too_late(),
            429: f"The Hub gets too many requests (429: {said}). Run the same command again in some minutes.",
            None: f"The connection to {host} failed ({said}). Run the same command again: what is uploaded is not sent again.",
        }
        if code is not None and code >= 500:
            return Problem(
                f"The Hub has a fault ({code}: {said}). Run the same command again later: nothing was changed."
            )
        return Problem(reasons.get(code, f"The Hub refused it ({code}: {said})."))

    def too_late(self) -> str:
        return (
            f"Somebody else pushed to {self.repo} at the same time and was first: nothing of this push is visible (412). See "
            f"{self.url}/commits/{self.revision}, and run the same command again if this one is to come on top."
        )

    def words(self, error: BaseException) -> str:
        """What a server or the client said, in one line."""
        text = str(getattr(error, "server_message", None) or error or type(error).__name__)
        line = " ".join(text.split()).rstrip(".")[:300]
        return line.replace(self.token, "…") if self.token else line


def split_additions(additions: Sequence[Any]) -> Iterator[list[Any]]:
    found: list[Any] = []
    size = 0
    for each in additions:
        if found and (len(found) == FILES_AT_A_TIME or size + each.upload_info.size > BYTES_AT_A_TIME):
            yield found
            found, size = [], 0
        found.append(each)
        size += each.upload_info.size
    if found:
        yield found


def client_errors() -> tuple[type[BaseException], ...]:
    """What the client raises: its own errors and its HTTP library's, and, from its threads, what is around them."""
    from huggingface_hub.errors import HTTPError

    return (HTTPError, OSError, RuntimeError, ValueError)


@contextmanager
def explain_odd_answers() -> Iterator[None]:
    """What the client stumbles over in an answer of another shape than the Hub's comes out as a fault."""
    try:
        yield
    except (TypeError, LookupError, AttributeError) as error:
        raise ValueError(f"it gave what no Hub says: {type(error).__name__}: {error}") from None


def first_cause(error: BaseException) -> BaseException:
    """The error that the others were raised from: a problem, or one that has an answer, before all."""
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) and cause not in chain:
        chain.append(cause)
    known = [each for each in chain if isinstance(each, Problem) or status_of(each) is not None]
    return known[0] if known else error


def status_of(error: BaseException) -> int | None:
    """Of the answer; None where there was no answer. Xet's own client tells it in words.

    >>> status_of(RuntimeError("Request error: HTTP status client error (401 Unauthorized), domain: ..."))
    401
    """
    code = getattr(getattr(error, "response", None), "status_code", None)
    named = re.search(r"HTTP status (?:client|server) error \((\d{3}) ", str(error))
    return int(named[1]) if code is None and named else code


def seconds_until_retry(error: BaseException, tries: int) -> float:
    """Seconds until the next try: what the Hub asks for, else 1, 2, 4, ..."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    return asked_to_wait(headers) or 2.0 ** (tries - 1)


def asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """
    >>> asked_to_wait({"Retry-After": "7"}), asked_to_wait({"RateLimit": '"api";r=0;t=3'}), asked_to_wait({})
    (7.0, 3.0, None)
    """
    used_up = re.search(r"r=0;\s*t=(\d+)", headers.get("RateLimit") or "")
    seconds = (used_up[1] if used_up else headers.get("Retry-After") or "").strip()
    return float(seconds) if seconds.isdecimal() else None
