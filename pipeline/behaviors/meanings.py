"""Which meanings of the phrase bank a step may be said with: those whose conditions its facts fulfil, the best one first."""

from random import Random

from shopwright.pipeline.behaviors.reasons import PageFacts
from shopwright.schemas.behaviors import Reason

# How often what stands behind a search is said, where there is something: that the one before was in vain, or how its words differ.
IN_VAIN, DIFFERENCE = 0.5, 0.6
# How often the weaker of two things is said that are both so.
WEAKER = 0.3


def list_meanings(reason: Reason, facts: PageFacts, random: Random) -> list[str]:
    """
    >>> list_meanings("opens", PageFacts(why="cheapest"), Random(1)), list_meanings("opens", PageFacts(why="cheapest"), Random(2))
    (['opens/like', 'opens/cheapest'], ['opens/cheapest', 'opens/like'])
    >>> list_meanings("gives up", PageFacts(why="done"), Random(1))
    ['gives up/done']
    """
    if reason == "look around":
        return list_search_meanings(facts, random)
    tails = list_tails(reason, facts)
    if len(tails) > 1 and random.random() < WEAKER:
        tails.append(tails.pop(0))
    return [f"{reason}/{tail}" if tail else reason for tail in tails]


def list_search_meanings(facts: PageFacts, random: Random) -> list[str]:
    if not facts["before"]:
        return [f"look around/{facts['turn'] or 'first'}"]
    found = ["look around/go on"]
    if random.random() < DIFFERENCE:
        found.insert(0, f"look around/{facts['turn']}")
    else:
        found.append(f"look around/{facts['turn']}")
    if facts["in_vain"]:
        found.insert(0 if random.random() < IN_VAIN else len(found), "look around/nothing found")
    return found


def list_tails(reason: Reason, facts: PageFacts) -> list[str]:
    """What is added to a reason, the strongest first; what is weaker holds too."""
    why = facts["why"]
    match reason:
        case "opens":
            return [why] if why == "like" else [why, "like"]
        case "looks again":
            return ["after others", ""] if facts["several"] else [""]
        case "next page":
            return ["nothing here", ""] if facts["quiet"] else [""]
        case "too dear":
            return ["other"] if facts["other"] else [""]
        case "compare":
            liked = ["liked"] if facts["several"] and why == "liked" else []
            return [*liked, *(["others"] if facts["several"] else []), ""]
        case "read more":
            return [facts["tab"]]
        case "read enough":
            return ["reviews" if facts["page"] == "reviews" else "text"]
        case "put in the cart":
            return ["well rated", ""] if facts["rating"] and float(facts["rating"]) >= 4 else [""]
        case "look into the cart":
            return ["put there" if facts["title"] else "from before"]
        case "buy":
            return ["from before", ""] if why == "before" else [""]
        case "go on":
            return ["bought" if facts["page"] == "bought" else "from before" if why == "before" else "in the cart"]
        case "narrow down" | "widen again":
            return list_refinement_tails(reason, facts)
        case "gives up":
            several = ["several"] if facts["several"] else []
            seen = ["not it", *several] if facts["title"] else ["nothing"]
            return [why] if why else seen
    return [""]


def list_refinement_tails(reason: Reason, facts: PageFacts) -> list[str]:
    kind = "price" if facts["limit"].startswith("$") else "rating"
    if reason == "widen again":
        return [kind]
    kept = [f"{kind} kept"] if facts["kept"] else []
    many = ["rating many"] if kind == "rating" and facts["many"] else []
    return [*kept, *many, kind]
