"""What a customer's log and orders say about it, and how an agent reads that."""

from pipeline.prompts import say
from schemas.shopping import Language, Profile


def told(profile: Profile, language: Language = "en") -> str:
    """A profile as an agent reads it: a line for each group of facts."""
    return say("profiles", profile=profile, language=language)
