"""Files of a dataset on the Hugging Face Hub, from the cache where they are there."""

import re
from collections.abc import Sequence
from pathlib import Path

from shopwright.pipeline.extras import require
from shopwright.pipeline.problem import Problem

# OWNER/NAME, as the Hub names a dataset.
HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


def download_from_hub(
    repo: str, patterns: Sequence[str], *, option: str, copy: str, failure: type[Problem] = Problem
) -> Path:
    """The folder with the dataset's files; never says more of an error than its kind. Raises `failure`.

    option: by which it was asked for; copy: what to give instead, where the files are here.
    """
    require("huggingface_hub", f"{option} {repo}, a dataset of the Hub,")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(repo, repo_type="dataset", allow_patterns=[*patterns]))
    except Exception as error:  # noqa: BLE001 - a Hub fails in twenty ways, and its messages can hold a token
        status = getattr(getattr(error, "response", None), "status_code", 0)
        why = {401: "no permission", 403: "no permission", 404: "not found"}.get(status, "no connection")
        raise failure(
            f"{repo} is no local path and could not be taken from the Hub ({why}). Check its name, the network and "
            f"your permission (`hf auth login`), or give a local copy: {option} {copy}"
        ) from None
