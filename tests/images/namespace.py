"""Carries out a Dockerfile in namespaces, for machines without a daemon: this machine's Debian stands in the place of the base image, with the Python that runs this.

    unshare --mount --pid --fork --kill-child python -m tests.images.namespace 8000 7860

Needs Linux, root and the network of pip. What is written lies in memory. At the end the image's command listens on the first port, `shopwright play` on the
second, both as compose.yaml starts them: the root cannot be written to, and the image's user has no capability and cannot get one.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp

from tests.images.test_images import HOME, read_instructions

TOKEN = "of-the-test"
# As a base image has it. The library: Python was built for another place, which the image's user may not look into.
BASE = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin", "LD_LIBRARY_PATH": "/usr/local/lib"}
PLAY = ["play", "--run", "/shop", "--host", "0.0.0.0", "--port"]


class Image:
    """A root directory, and what the instructions have said so far."""

    def __init__(self, place: Path) -> None:
        self.root, self.env, self.folder, self.user = place / "root", dict(BASE), "/", 0
        for name in ("root", "upper", "work"):
            (place / name).mkdir(parents=True)
        layers = f"lowerdir=/,upperdir={place / 'upper'},workdir={place / 'work'}"
        mount("-t", "overlay", "overlay", "-o", layers, self.root)
        mount("--bind", sys.base_prefix, self.at("/usr/local"))
        mount("-t", "proc", "proc", self.at("/proc"))
        mount("--rbind", "/dev", self.at("/dev"))

    def at(self, path: str) -> Path:
        return self.root / os.path.join(self.folder, path).lstrip("/")

    def run(self, words: list[str], **more: str) -> None:
        enter = f'cd {self.folder} && exec "$@"'
        # pip finds its packages as it does outside.
        found = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        subprocess.run(
            ["chroot", self.root, "sh", "-c", enter, "sh", *words],
            env={**found, "HOME": "/root", **self.env, **more},
            check=True,
        )

    def start(self, words: list[str], **more: str) -> subprocess.Popen[bytes]:
        who = [
            f"--reuid={self.user}",
            f"--regid={self.user}",
            "--clear-groups",
            "--bounding-set=-all",
            "--inh-caps=-all",
        ]
        command = ["chroot", self.root, "setpriv", *who, "--no-new-privs", *words]
        return subprocess.Popen(command, env={"HOME": self.folder, **self.env, **more})

    def copy(self, words: list[str], stages: dict[str, "Image"]) -> None:
        named = dict(word[2:].split("=", 1) for word in words if word.startswith("--"))
        *sources, target = [word for word in words if not word.startswith("--")]
        for source in sources:
            made = stages[named["from"]].at(source) if "from" in named else HOME / source
            place = self.at(target) / source if target == "./" else self.at(target)
            place.parent.mkdir(parents=True, exist_ok=True)
            if made.is_dir():
                shutil.copytree(
                    made, place, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
                )
            else:
                shutil.copy(made, place)
            if "chown" in named:
                subprocess.run(["chown", "-R", named["chown"], place], check=True)


def mount(*words: str | Path) -> None:
    subprocess.run(["mount", *words], check=True)


def build(path: Path, place: Path) -> tuple[Image, dict[str, str]]:
    """The last stage's image, and what ENTRYPOINT and CMD say."""
    stages: dict[str, Image] = {}
    image, told = None, {}
    for name, words in read_instructions(path):
        if name == "FROM":
            image = Image(place / str(len(stages)))
            stages[words.split()[-1]] = image
            continue
        assert image is not None
        if name == "COPY":
            image.copy(words.split(), stages)
        elif name == "RUN":
            image.run(["sh", "-c", words])
        elif name == "WORKDIR":
            image.folder = words
            image.at("").mkdir(parents=True, exist_ok=True)
        elif name in ("ENV", "ARG"):
            given = dict(word.split("=", 1) for word in words.split())
            image.env |= {key: value.replace("$PATH", image.env["PATH"]) for key, value in given.items()}
        elif name == "USER":
            image.user = int(words)
        else:
            told[name] = words
    assert image is not None
    return image, told


def main() -> None:
    serve_at, play_at = sys.argv[1:]
    place = Path(mkdtemp(prefix="shopwright-image-"))
    mount("-t", "tmpfs", "tmpfs", place)
    image, told = build(HOME / "Dockerfile", place)
    mount("-o", "remount,ro", image.root)
    for folder in ("/tmp", image.folder):
        mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", image.at(folder))
    entry, words = json.loads(told["ENTRYPOINT"]), json.loads(told["CMD"])
    words[words.index("--port") + 1] = serve_at
    running = [image.start([*entry, *words], SHOPWRIGHT_TOKEN=TOKEN), image.start([*entry, *PLAY, play_at])]
    for each in running:
        each.wait()


if __name__ == "__main__":
    main()
