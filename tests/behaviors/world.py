"""The shop and the logs of a run, and its sessions walked anew."""

from dataclasses import replace
from itertools import islice
from random import Random

from pipeline.behaviors import wording
from pipeline.behaviors.logs import Logs
from pipeline.behaviors.rows import behavior
from pipeline.behaviors.sessions import sessions
from pipeline.behaviors.walk import day_of, start
from pipeline.checks.shopping import shop_of
from pipeline.shop.stock import Stock


class World:
    def __init__(self, run):
        self.logs = run.read("trajectories").once(Logs)
        self.shop = run.read("catalog").once(shop_of)
        self.stock = run.read("catalog").once(Stock)
        self.people = {person.id: person for person in run.read("personas")}

    def log(self, trajectory):
        return self.logs.of(trajectory, self.shop.store)

    def sessions(self, cut="errand", most=None):
        """(trajectory, session)"""
        names = (trajectory for trajectory, _ in self.logs.largest)
        found = ((name, session) for name in names for session in sessions(self.log(name), cut))
        return list(islice(found, most))

    def walk(self, trajectory, session, seed=1, **person):
        """At its first page; `person`: what is otherwise about the customer."""
        customer = self.people[self.logs.customer[trajectory]].model_copy(update=person)
        day = day_of(session, self.shop.store, self.stock)
        return start(session, self.shop, customer, day, Random(seed))

    def row(self, trajectory, session, name="walked", seed=1):
        """The session as a row, as the stage makes it."""
        walk = self.walk(trajectory, session, seed)
        outcome = walk.go()
        said = [wording.rationale(move.reason, move.facts, walk.random) for move in walk.moves]
        return behavior(name, trajectory, walk, outcome, said, "code").model_dump()


def otherwise(session, variant, row):
    """The session with another variant put into the cart or bought by this event."""
    return replace(session, variants={**session.variants, row: variant})
