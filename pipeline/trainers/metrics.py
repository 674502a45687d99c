"""What Prometheus reads of a server: sessions, episodes, steps, their times and rewards, by environment and level; nothing without its client.

Workers write into files of one folder (the client's multiprocess mode), so any of them answers for all.
"""

import os
from importlib.util import find_spec
from typing import Any

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
REWARDS = (-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 0.99, 1.0)
# Environment and level.
Labels = tuple[str, str]


def can_measure() -> bool:
    return find_spec("prometheus_client") is not None


class Metrics:
    """Counts nothing where no folder is named, which has to be named before the first `import prometheus_client`."""

    def __init__(self) -> None:
        self.on = FOLDER in os.environ and can_measure()
        if not self.on:
            return
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        registry, of = CollectorRegistry(), ("environment", "level")
        self.sessions = Gauge(
            "shopwright_sessions", "Sessions with a place", registry=registry, multiprocess_mode="livesum"
        )
        self.resets = Histogram(
            "shopwright_reset_seconds", "A reset, waiting for a place included", of, registry=registry, buckets=SECONDS
        )
        self.steps = Histogram("shopwright_step_seconds", "A tool's call", of, registry=registry, buckets=SECONDS)
        self.rewards = Histogram("shopwright_reward", "What episodes earned", of, registry=registry, buckets=REWARDS)
        self.expired = Counter("shopwright_expired", "Sessions freed as they were idle", registry=registry)
        self.replaced = Counter("shopwright_workers_replaced", "Workers that died", registry=registry)
        # Asking for a child by its labels costs more than counting.
        self.known: dict[tuple[int, Labels], Any] = {}

    def of(self, metric: Any, labels: Labels) -> Any:
        key = (id(metric), labels)
        if key not in self.known:
            self.known[key] = metric.labels(*labels)
        return self.known[key]

    def set_sessions(self, count: int) -> None:
        if self.on:
            self.sessions.set(count)

    def count_reset(self, labels: Labels, seconds: float) -> None:
        if self.on:
            self.of(self.resets, labels).observe(seconds)

    def count_step(self, labels: Labels, seconds: float) -> None:
        if self.on:
            self.of(self.steps, labels).observe(seconds)

    def count_reward(self, labels: Labels, reward: float) -> None:
        if self.on:
            self.of(self.rewards, labels).observe(reward)

    def count_expired(self) -> None:
        if self.on:
            self.expired.inc()

    def count_replaced(self, worker: int) -> None:
        """A worker of this process id died: its counts stay, its sessions are none any more."""
        if self.on:
            from prometheus_client.multiprocess import mark_process_dead

            mark_process_dead(worker)  # type: ignore[no-untyped-call, unused-ignore]
            self.replaced.inc()


def render_metrics() -> bytes | None:
    """Of all workers, in Prometheus's text format; None where nothing is counted."""
    if FOLDER not in os.environ or not can_measure():
        return None
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=os.environ[FOLDER])  # type: ignore[no-untyped-call, unused-ignore]
    return bytes(generate_latest(registry))
