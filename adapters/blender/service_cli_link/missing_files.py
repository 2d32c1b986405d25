"""Images and libraries whose file is not there."""

import os

from . import finite

MAX_CHECKED = 200
KEEP_SECONDS = 30.0


class MissingFiles:
    """Looks at the disk now and then only: it may be a slow one, and this is the main thread."""

    def __init__(self, clock, exists=os.path.exists):
        self._clock = clock
        self._exists = exists
        self._looked_at = None
        self._found = []

    def forget(self):
        self._looked_at = None

    def warnings(self, bpy):
        now = self._clock()
        if self._looked_at is None or now - self._looked_at >= KEEP_SECONDS:
            self._looked_at = now
            self._found = self._look(bpy)
        return list(self._found)

    def _look(self, bpy):
        found = []
        for kind, block in self._candidates(bpy.data):
            path = bpy.path.abspath(block.filepath, library=block.library)
            if not self._exists(path):
                name = finite.short_text(block.name_full, 255)
                found.append({"code": "file_missing", "kind": kind, "name": name})
        return found

    def _candidates(self, data):
        for image in data.images[:MAX_CHECKED]:
            # Tiles and sequences have a pattern for a path.
            if image.source == "FILE" and image.filepath and not image.packed_file:
                yield "image", image
        for library in data.libraries[:MAX_CHECKED]:
            if not library.packed_file:
                yield "library", library
