"""One file per situation in the shop. Each draws tasks, solves them, and scores any attempt."""

import importlib
import pkgutil
from functools import cache
from inspect import isabstract
from itertools import chain

from shopwright.pipeline.envs.base import Env
from shopwright.pipeline.problem import Problem, suggest_name

# As the collections take them: C1 the first, C2 two, C4 four, C8 all (EcomRLVE-GYM).
ENV_ORDER = (
    *("cart_building", "substitution", "product_discovery", "return_replacement"),
    *("order_tracking", "policy_qa", "bundle_planning", "journey"),
)


@cache
def all_envs() -> dict[str, Env]:
    """Every env in this folder by name; a new file here is all that it takes."""
    modules = [importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    values = chain.from_iterable(vars(module).values() for module in modules)
    kinds = {kind for kind in values if isinstance(kind, type) and issubclass(kind, Env)}
    found = {kind.name: kind() for kind in kinds if not isabstract(kind)}
    return dict(
        sorted(
            found.items(),
            key=lambda pair: (ENV_ORDER.index(pair[0]) if pair[0] in ENV_ORDER else len(ENV_ORDER), pair[0]),
        )
    )


def get_env(name: str) -> Env:
    """Raises Problem with the names that there are."""
    if name not in all_envs():
        raise Problem(f"There is no env {name[:60]}. {suggest_name(name, all_envs())}")
    return all_envs()[name]


def select_collection(name: str) -> list[str]:
    """The envs of C1, C2, C4 or C8, all that there are, or the one of this name.

    >>> select_collection("C2"), len(select_collection("all")) > len(select_collection("C8"))
    (['cart_building', 'substitution'], True)
    """
    if name == "all":
        return list(all_envs())
    sizes = {"C1": 1, "C2": 2, "C4": 4, "C8": 8}
    return list(ENV_ORDER[: sizes[name]]) if name in sizes else [get_env(name).name]
