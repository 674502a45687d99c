"""The shop and the logs of a run, and its sessions walked anew."""

from dataclasses import replace
from itertools import islice
from random import Random

from shopwright.pipeline.behaviors.logs import Logs
from shopwright.pipeline.behaviors.rationales import Speaker
from shopwright.pipeline.behaviors.rows import build_behavior
from shopwright.pipeline.behaviors.session_replay import build_visit_day, start_replay
from shopwright.pipeline.behaviors.sessions import assign_customer_split, cut_sessions
from shopwright.pipeline.checks.shopping import shop_of
from shopwright.pipeline.world.catalog_columns import CatalogColumns


class World:
    def __init__(self, run):
        self.logs = run.read("trajectories").once(Logs)
        self.shop = run.read("catalog").once(shop_of)
        self.stock = run.read("catalog").once(CatalogColumns)
        self.people = {person.id: person for person in run.read("personas")}

    def log(self, trajectory):
        return self.logs.of(trajectory, self.shop.store)

    def sessions(self, cut="errand", most=None):
        """(trajectory, session)"""
        names = (trajectory for trajectory, _ in self.logs.largest)
        found = ((name, session) for name in names for session in cut_sessions(self.log(name), cut))
        return list(islice(found, most))

    def walk(self, trajectory, session, seed=1, **person):
        """At its first page; `person`: what is otherwise about the customer."""
        customer = self.people[self.logs.customer[trajectory]].model_copy(update=person)
        day = build_visit_day(session, self.shop.store, self.stock)
        return start_replay(session, self.shop, customer, day, Random(seed))

    def row(self, trajectory, session, name="walked", seed=1):
        """The session as a row, as the stage makes it."""
        walk = self.walk(trajectory, session, seed)
        outcome = walk.go()
        speaker = Speaker("plain", assign_customer_split(walk.person.id), walk.store, walk.random)
        said = [speaker.say(move) for move in walk.moves]
        return build_behavior(name, trajectory, walk, outcome, said, "code").model_dump()


def otherwise(session, variant, row):
    """The session with another variant put into the cart or bought by this event."""
    return replace(session, variants={**session.variants, row: variant})
