"""Files that the person asked to share: written where needed, sent as artefacts, cleaned up."""

import mimetypes
import os
import shutil
import tempfile

import bpy

from . import preferences
from .values import name_of

# Blender handles its notifiers at the end of the pass of its main loop that posted them.
SAVED_CHECKS = 20
SAVED_CHECK_SECONDS = 0.05
_check = None  # of the last copy


class CannotShare(Exception):
    """With a sentence for the person who asked."""


def _share(link, name, mime, write, on_done, metadata=None):
    """`write(path)` makes the file, in a folder of its own that goes when the upload is done.
    `on_done(name, upload)` is called then."""
    folder = tempfile.mkdtemp(prefix="service-cli-share-")
    path = os.path.join(folder, name)

    def finished(upload):
        shutil.rmtree(folder, ignore_errors=True)
        on_done(name, upload)

    try:
        write(path)
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, RuntimeError):  # how Blender's operators and image functions fail
            raise CannotShare(str(error).strip())
        raise
    link.put_artefact(path=path, mime=mime, display_name=name, metadata=metadata, on_done=finished)


def share_render_result(link, on_done):
    # Blender keeps an empty image before the first render, and refuses to save that.
    image = bpy.data.images.get("Render Result")
    if image is None or image.type != "RENDER_RESULT":
        raise CannotShare("nothing was rendered yet")
    scene = bpy.context.scene
    # No frame: after an animation the result is not of the current one.
    name = "render" + (".png" if scene.render.is_movie_format else scene.render.file_extension)
    _share(
        link,
        name,
        mimetypes.guess_type(name, strict=False)[0] or "application/octet-stream",
        lambda path: image.save_render(path, scene=scene),
        on_done,
        {"scene": name_of(scene), "document": bpy.data.filepath},
    )


def share_document(link, on_done):
    # Always a copy: changes made by scripts do not set `is_dirty`, so the saved file may be older.
    name = os.path.basename(bpy.data.filepath) or "untitled.blend"

    def write(target):
        was_modified = bpy.data.is_dirty
        bpy.ops.wm.save_as_mainfile(filepath=target, copy=True, check_existing=False)
        # Without a window there is no main loop, and the state stays.
        if was_modified and not bpy.app.background:
            _keep_modified()

    _share(link, name, "application/x-blender", write, on_done)


def keeps_modified():
    """The open file is modified, though Blender may say otherwise for a moment."""
    return _check is not None and bpy.app.timers.is_registered(_check)


def _keep_modified():
    """Marks the file as modified again after Blender, for which a copy is a save, has cleared the mark."""
    global _check
    left = [SAVED_CHECKS]

    def check():
        if not bpy.data.is_dirty:
            # Python can set the mark in no other way; it costs one undo step without a change.
            bpy.ops.ed.undo_push(message="Share .blend")
            return None
        left[0] -= 1
        return SAVED_CHECK_SECONDS if left[0] else None

    # Not persistent: opening another file ends it.
    bpy.app.timers.register(check, first_interval=0)
    _check = check


# --- Operators


class _Share:
    """`share(link, on_done)` says how; a refusal is a warning in Blender's own way."""

    @classmethod
    def poll(cls, _context):
        running = preferences.RUNNING
        return running is not None and running.session is not None

    def execute(self, _context):
        running = preferences.RUNNING
        try:
            with running.session.unheard():
                self.share(running.session.link, running.shared)
        except CannotShare as error:
            self.report({"WARNING"}, str(error))
            return {"CANCELLED"}
        running.say("sharing…")
        return {"FINISHED"}


class SERVICE_CLI_OT_share_render(_Share, bpy.types.Operator):
    """Send the last render result to the server as an artefact"""

    bl_idname = "service_cli.share_render"
    bl_label = "Share Render"
    share = staticmethod(share_render_result)


class SERVICE_CLI_OT_share_document(_Share, bpy.types.Operator):
    """Send this .blend file, as it is now, to the server as an artefact"""

    bl_idname = "service_cli.share_document"
    bl_label = "Share .blend"
    share = staticmethod(share_document)


CLASSES = (
    SERVICE_CLI_OT_share_render,
    SERVICE_CLI_OT_share_document,
)
