"""Files that the person asked to share: written where needed, sent as artefacts, cleaned up."""

import mimetypes
import os
import re
import shutil
import tempfile

import bpy

MAX_FRAMES = 300

# Blender handles its notifiers at the end of the pass of its main loop that posted them.
SAVED_CHECKS = 20
SAVED_CHECK_SECONDS = 0.05
_check = None  # of the last copy

# What Python's own table does not know, or knows differently on each machine.
_MIMES = {
    ".blend": "application/x-blender",
    ".exr": "image/x-exr",
    ".hdr": "image/vnd.radiance",
    ".webp": "image/webp",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".tga": "image/x-tga",
    ".mkv": "video/x-matroska",
}


class CannotShare(Exception):
    """With a sentence for the person who asked."""


def mime_of(path):
    extension = os.path.splitext(path)[1].lower()
    return _MIMES.get(extension) or mimetypes.guess_type(path)[0] or "application/octet-stream"


def share_file(link, path, on_done, metadata=None):
    """`on_done(name, upload)` is called when the upload has ended."""
    name = os.path.basename(path)
    if not os.path.isfile(path):
        raise CannotShare("there is no file " + path)
    return link.put_artefact(
        path=path,
        mime=mime_of(path),
        display_name=name,
        metadata=metadata,
        on_done=lambda upload: on_done(name, upload),
    )


def share_written(link, name, write, on_done, metadata=None):
    """`write(path)` makes the file, in a folder of its own that goes when the upload is done."""
    folder = tempfile.mkdtemp(prefix="service-cli-share-")
    path = os.path.join(folder, name)

    def finished(*ended):
        shutil.rmtree(folder, ignore_errors=True)
        on_done(*ended)

    try:
        write(path)
        return share_file(link, path, finished, metadata=metadata)
    except RuntimeError as error:  # how Blender's operators and image functions fail
        shutil.rmtree(folder, ignore_errors=True)
        raise CannotShare(str(error).strip())
    except Exception:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def render_result():
    """The image that holds it; Blender keeps an empty one before the first render."""
    image = bpy.data.images.get("Render Result")
    return image if image is not None and image.type == "RENDER_RESULT" else None


def has_render_result():
    """Blender does not tell, but refuses to save what is not there before it looks at the path."""
    image = render_result()
    if image is None:
        return False
    try:
        # A file is no folder: nothing is ever written.
        image.save_render(os.path.join(__file__, "never.png"), scene=bpy.context.scene)
    except RuntimeError as error:
        # "does not have any image data", before 3.0 "Could not acquire buffer from image"
        return not re.search("image data|acquire", str(error))
    return True


def share_render_result(link, on_done):
    image = render_result()
    if image is None:
        raise CannotShare("nothing was rendered yet")
    scene = bpy.context.scene
    settings = scene.render
    extension = ".png" if settings.is_movie_format else settings.file_extension
    name = "render_%04d%s" % (scene.frame_current, extension)
    return share_written(
        link,
        name,
        lambda path: image.save_render(path, scene=scene),
        on_done,
        {"frame": scene.frame_current, "scene": scene.name_full, "document": bpy.data.filepath},
    )


def share_image(link, image, on_done):
    if image.type in ("RENDER_RESULT", "COMPOSITING"):
        return share_render_result(link, on_done)
    path = bpy.path.abspath(image.filepath, library=image.library)
    if image.source == "FILE" and not image.is_dirty and not image.packed_file:
        return share_file(link, path, on_done)
    # Painted, generated or packed: what is on the screen is in no file.
    name = bpy.path.clean_name(os.path.splitext(image.name)[0]) + ".png"
    return share_written(link, name, lambda target: _save_copy(image, target), on_done)


def _save_copy(image, path):
    if not image.has_data and not image.size[0]:
        raise CannotShare("the image %s has no pixels" % image.name)
    settings = bpy.context.scene.render.image_settings
    before = settings.file_format
    settings.file_format = "PNG"
    try:
        image.save_render(path, scene=bpy.context.scene)
    finally:
        settings.file_format = before


def share_document(link, on_done):
    # Always a copy: changes made by scripts do not set `is_dirty`, so the saved file may be older.
    name = os.path.basename(bpy.data.filepath) or "untitled.blend"

    def write(target):
        was_modified = bpy.data.is_dirty
        bpy.ops.wm.save_as_mainfile(filepath=target, copy=True, check_existing=False)
        # Without a window there is no main loop, and the state stays.
        if was_modified and not bpy.app.background:
            _keep_modified()

    return share_written(link, name, write, on_done)


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


def rendered_files(scene, since):
    """The files that a render just wrote: those of its frames that are newer than its beginning."""
    settings = scene.render
    if settings.is_movie_format:
        frames = [scene.frame_start]
    else:
        frames = range(scene.frame_start, scene.frame_end + 1, scene.frame_step)[:MAX_FRAMES]
        frames = sorted(set(frames) | {scene.frame_current})
    return written_since((settings.frame_path(frame=frame) for frame in frames), since)


def written_since(paths, since):
    found = []
    for path in paths:
        try:
            # File systems keep times in steps of up to two seconds.
            if os.stat(path).st_mtime >= since - 2 and path not in found:
                found.append(path)
        except OSError:
            continue
    return found
