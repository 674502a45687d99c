"""What of a run to look at first: what was rejected, missed its goal, can be cheated or was not solved."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from shopwright.pipeline.dataset import Manifest
from shopwright.pipeline.evaluate.situation import SOLVER
from shopwright.pipeline.evaluate.statistics import measure_share
from shopwright.pipeline.run import Run

# Of a dataset's rows, from which share on rejections are named.
MANY = 0.02
# Of episodes of an env, below which share of success an expert's are named.
FEW = 0.9


class Finding(NamedTuple):
    section: str
    """Where the page says more."""
    words: str


def list_findings(run: Run, manifests: Sequence[Manifest], parts: dict[str, Any]) -> list[Finding]:
    """In the order in which they matter. parts: what each section of the page says."""
    found = [*find_missing(manifests), *find_audit_faults(parts.get("audit")), *find_rejections(manifests)]
    return [*found, *find_missed_figures(parts.get("realism")), *find_unsolved(run, manifests)]


def find_missing(manifests: Sequence[Manifest]) -> Iterator[Finding]:
    for made in manifests:
        left = 0 if made.requested is None else made.requested - made.rows - made.rejected
        if left > 0:
            yield Finding("made", f"{left:,} of {made.requested:,} rows of {made.dataset} are still to be made.")


def find_rejections(manifests: Sequence[Manifest]) -> Iterator[Finding]:
    for made in sorted(manifests, key=lambda made: -made.rejected / max(1, made.rows + made.rejected)):
        share = made.rejected / max(1, made.rows + made.rejected)
        if share >= MANY and made.rejects:
            reason, count = max(made.rejects.items(), key=lambda item: item[1])
            words = f"{share:.1%} of {made.dataset} were rejected ({made.rejected:,} rows), most often ({count:,}) because: {reason}."
            yield Finding("rejected", words)


def find_missed_figures(realism: dict[str, Any] | None) -> Iterator[Finding]:
    figures = realism["found"].figures if realism else []
    missed = [one.goal.name.strip() for one in figures if one.verdict == "missed"]
    if missed:
        judged = sum(bool(one.verdict) for one in figures)
        yield Finding("realism", f"{len(missed)} of {judged} figures of realism miss their goal: {'; '.join(missed)}.")


def find_audit_faults(audit: dict[str, Any] | None) -> Iterator[Finding]:
    """The solver where it fails, and the player that does best without doing the job."""
    cells = [cell for _, _, row in audit["rows"] for cell in row if cell and cell.episodes] if audit else []
    failed = [cell for cell in cells if cell.policy == SOLVER and cell.success.share < 1]
    if failed:
        yield Finding("audit", f"The solver fails in {'; '.join(cell.where for cell in failed[:4])}.")
    cheap = max((cell for cell in cells if cell.policy != SOLVER), key=lambda cell: cell.success.share, default=None)
    if cheap and cheap.success.share:
        share, name = cheap.success.format_interval("%"), cheap.policy.replace("-", " ")
        words = f"Of the players that do not do the job, {name} succeeds most often: {share} in {cheap.where}."
        yield Finding("audit", words)


def find_unsolved(run: Run, manifests: Sequence[Manifest]) -> Iterator[Finding]:
    """Situations in which those who play do not succeed."""
    if not any(made.dataset == "env_episodes" and made.rows for made in manifests):
        return
    rows = run.read("env_episodes").sql(
        "select env, policy, count(*) filter (reward.success), count(*) from rows group by 1, 2 order by 3 / 4, 1"
    )
    low = [(env, policy, measure_share(good, count)) for env, policy, good, count in rows if good < FEW * count]
    if low:
        named = "; ".join(f"{env} {share.format_interval('%')} ({policy})" for env, policy, share in low)
        yield Finding("environments", f"Fewer than {FEW:.0%} of episodes succeed in {named}.")
