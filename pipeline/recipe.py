"""A recipe file: what to build and with which models, written down once.

    seed = 7
    datasets = ["rollouts"]             # what `python -m shopwright.flows.release` builds, one after the other
    [sizes]
    "personas.count" = 400              # settings that its --scale makes smaller
    [settings]
    count = 1000                        # as on the command line: --count 1000
    "catalog.source" = "my-shop.csv"
    [models]
    model = "openai:Qwen/Qwen3-8B@http://127.0.0.1:8000/v1"
    judge = "scripted"                  # a role of its own: writer, shopper, agent, judge
    max_cost = 20.0                     # dollars, at these prices
    [prices."Qwen/Qwen3-8B"]            # dollars for a million tokens
    prompt = 0.05
    reply = 0.20
    [sampling.writer]
    temperature = 0.9
    [vllm]                              # options of the engine, for vllm:NAME
    max_model_len = 8192

What the command line says goes before what the file says.
"""

import json
import tomllib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shopwright.pipeline.files import path_of
from shopwright.pipeline.models.base import Price, Sampling
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import owners_of
from shopwright.pipeline.stage import ROLES
from shopwright.pipeline.stages import all_stages, upstream

# Beside published data.
RECIPE = "recipe.toml"
RoleName = Literal["writer", "shopper", "agent", "judge"]


Size = Annotated[int, Field(ge=0, le=10**12)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class SamplingOf(Strict):
    temperature: float = Field(default=Sampling.temperature, ge=0, le=2)
    top_p: float = Field(default=Sampling.top_p, gt=0, le=1)
    max_tokens: int = Field(default=Sampling.max_tokens, ge=1)


class PriceOf(Strict):
    prompt: float = Field(ge=0)
    reply: float = Field(ge=0)


class ModelsOf(Strict):
    model: str | None = None
    writer: str | None = None
    shopper: str | None = None
    agent: str | None = None
    judge: str | None = None
    at_once: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_cost: float | None = Field(default=None, gt=0)
    patience: float | None = Field(default=None, gt=0)


class RecipeFile(Strict):
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    datasets: list[str] = []
    sizes: dict[str, Size] = {}
    settings: dict[str, Any] = {}
    models: ModelsOf = ModelsOf()
    sampling: dict[RoleName, SamplingOf] = {}
    prices: dict[str, PriceOf] = {}
    vllm: dict[str, Any] = {}

    def settings_of(self, dataset: str) -> dict[str, Any]:
        """Those that this dataset takes; a recipe may serve several. Raises Problem for one that no dataset has."""
        return self.select_settings(dataset, {**self.sizes, **self.settings})

    def sizes_of(self, dataset: str, scale: float) -> dict[str, Any]:
        """Its sizes, made smaller; a paper's own, which are exact, are then left out."""
        exact = {} if scale == 1 else {name: False for name in self.settings if name.rpartition(".")[2] == "paper"}
        scaled = {name: max(1, round(size * scale)) for name, size in self.sizes.items()}
        return self.select_settings(dataset, scaled | exact)

    def select_settings(self, dataset: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in settings.items():
            owner, _, name = key.rpartition(".")
            owners = [owner] if owner else [each for each, stage in all_stages().items() if name in stage.settings]
            if not any(each in all_stages() and name in all_stages()[each].settings for each in owners):
                raise Problem(f"[settings] {key}: no dataset has it. See: shopwright list")
            here = [each for each in upstream(dataset) if each in owners]
            if here:
                mine = owner or (owners_of(dataset, name) or here)[0]
                found[f"{mine}.{name}"] = value
        return found

    def model_options(self) -> dict[str, Any]:
        """As `read_model_options` takes them."""
        given = {name: value for name, value in self.models.model_dump().items() if value is not None}
        roles = {role: given.pop(role) for role in ROLES if role in given}
        tables = {
            "roles": roles,
            "sampling": {role: Sampling(**found.model_dump()) for role, found in self.sampling.items()},
            "prices": {model: Price(**found.model_dump()) for model, found in self.prices.items()},
            "engine": self.vllm,
        }
        return {**given, **{name: table for name, table in tables.items() if table}}


def as_toml(value: Any) -> str:
    """
    >>> as_toml(["32k"]), as_toml(True), as_toml({})
    ('["32k"]', 'true', '{}')
    """
    if isinstance(value, dict):
        pairs = ", ".join(f"{json.dumps(name)} = {as_toml(each)}" for name, each in value.items())
        return f"{{{pairs}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(as_toml, value))}]"
    return json.dumps(value, ensure_ascii=False, default=str)


def read_recipe(path: str | None) -> RecipeFile:
    """The file's recipe, or an empty one; `hf://USER/NAME` is that of a published dataset. Raises Problem with the place of what is wrong in it."""
    if path is None:
        return RecipeFile()
    try:
        return RecipeFile.model_validate(tomllib.loads(path_of(find_recipe(path)).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise Problem(f"--recipe {path}: No such file or directory.") from None
    except OSError as error:
        raise Problem(f"--recipe {path}: {error.strerror or error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise Problem(f"--recipe {path}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
    except ValueError as error:  # no TOML, or no UTF-8
        raise Problem(f"--recipe {path} is not TOML: {error}.") from None
    except RecursionError:
        raise Problem(f"--recipe {path} cannot be read: it is nested too deep.") from None


def find_recipe(path: str) -> str:
    """
    >>> find_recipe("hf://user/name"), find_recipe("mine.toml")
    ('hf://datasets/user/name/recipe.toml', 'mine.toml')
    """
    if not path.startswith("hf://") or path.endswith(".toml"):
        return path
    return f"hf://datasets/{path.removeprefix('hf://').removeprefix('datasets/').strip('/')}/{RECIPE}"
