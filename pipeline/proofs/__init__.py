"""What is said in each family of texts, with real facts, and who reads it back: one file a family."""

from typing import Any

from shopwright.pipeline.proofs.behaviors import Behaviors
from shopwright.pipeline.proofs.envs import Envs
from shopwright.pipeline.proofs.family import Family
from shopwright.pipeline.proofs.questions import Questions
from shopwright.pipeline.proofs.rollouts import Rollouts

FAMILIES: dict[str, Family[Any]] = {family.name: family for family in (Questions(), Envs(), Behaviors(), Rollouts())}
