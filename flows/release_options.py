"""What a deployed release is asked for: the form that Prefect shows, and the parameters in `flows/prefect.yaml`."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

# The files of `flows/recipes/`.
RecipeName = Literal["ecomrlve", "everything", "shop_r1", "shopsimulator", "shoptrajqa"]
TIME = "{time} in it is when the run was to start, so that each has a folder of its own and a retry goes on in it"


class ReleaseOptions(BaseModel):
    """A release: which datasets, how large, made where, and where they go."""

    model_config = ConfigDict(extra="forbid")
    recipe: RecipeName = Field(default="everything", description="which datasets: one of a paper, or some of every")
    scale: float = Field(default=1.0, gt=0, le=1, description="share of the recipe's sizes")
    run: str = Field(
        default="", description=f"the folder where it is made, also s3://…; {TIME} (empty: data/runs/RECIPE)"
    )
    seed: int | None = Field(default=None, description="another world (empty: the recipe's, or 0)")
    workers: int | None = Field(default=None, ge=1, description="processes (empty: one for each core)")
    runner: str = Field(
        default="",
        pattern=r"^(|local|(dask|ray)(:.+)?)$",
        description="where shards are made (empty: on this machine; or dask, ray, dask:ADDRESS, ray:ADDRESS)",
    )
    model: str = Field(
        default="",
        pattern=r"^(|scripted|openai:.+@.+)$",
        description="an OpenAI-compatible server that phrases it: openai:NAME@http://HOST:PORT/v1 (empty: the recipe's, or none)",
    )
    to: str = Field(
        default="", description="a folder that is to hold what would be on the Hub, {time} as above (empty: none)"
    )
    repo: str = Field(
        default="", pattern=r"^(|[\w.-]+/[\w.-]+)$", description="the dataset on the Hub: user/name (empty: none)"
    )
    private: bool = Field(default=False, description="only you may see it there")
    hours: float = Field(default=24, gt=0, description="hours after which the whole is ended; what is finished is kept")
    minutes: float | None = Field(
        default=None,
        gt=0,
        description="minutes for one shard (empty: 60, for embeddings 240; none where a model is asked)",
    )

    def at(self, time: datetime) -> "ReleaseOptions":
        """With the time in its folders.

        >>> ReleaseOptions(run="data/runs/nightly-{time}").at(datetime(2026, 11, 21, 2, 30)).run
        'data/runs/nightly-20261121-0230'
        """
        said = f"{time:%Y%m%d-%H%M}"
        folders: dict[str, Any] = {name: getattr(self, name).replace("{time}", said) for name in ("run", "to")}
        folders["run"] = folders["run"] or f"data/runs/{self.recipe}"
        return self.model_copy(update=folders)
