"""What the person who uses Blender decided, as plain values that any thread may read."""

from collections import namedtuple

Settings = namedtuple(
    "Settings",
    "url token registry_dir detail scene objects picture actions console renders",
)

DEFAULTS = Settings(
    url="",
    token="",
    registry_dir="",
    detail="standard",
    scene=True,
    objects=True,
    picture=True,
    actions=True,
    console=True,
    renders=False,
)
