"""How many objects a snapshot can carry."""

import json

SAMPLE_EVERY = 16


def fitting(objects, max_bytes):
    """The number of objects, from the first, that stay within about `max_bytes` as JSON.

    Every 16th is measured: names are short by Blender's own limit, so that the rest is much alike.
    """
    sample = objects[::SAMPLE_EVERY]
    if not sample:
        return 0
    average = len(json.dumps(sample, allow_nan=False, separators=(",", ":"))) / len(sample)
    return min(len(objects), int(max_bytes / average))
