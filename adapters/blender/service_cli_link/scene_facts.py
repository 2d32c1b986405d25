"""The scene as one JSON object, schema dcc-scene/1: all members but its objects."""

import datetime
import os
from functools import lru_cache
from heapq import nsmallest
from time import strftime

import bpy

from . import sharing
from .values import REPLACED, Cleaner, name_of, names_of, short_text, without_nothing

MAX_SELECTED = 200
MAX_LISTED = 200
MAX_CHECKED = 200
_UNSAVED = "service_cli_unsaved"


def members(reader, document=None):
    """Two calls for the same state are equal: `stamp` adds what is new in each."""
    cleaner = Cleaner()
    scene = bpy.context.scene
    layer = bpy.context.view_layer
    active = layer.objects.active
    result = {
        "schema": "dcc-scene/1",
        "detail": reader.detail,
        "dcc": {
            "type": "blender",
            "version": bpy.app.version_string,
            "pid": os.getpid(),
            "mode": "background" if bpy.app.background else "gui",
            "display_name": "Blender " + bpy.app.version_string,
        },
        "document": without_nothing(document or open_document()),
        "scene": {
            "name": name_of(scene),
            "view_layer": name_of(layer, "name"),
            "scenes": names_of(bpy.data.scenes[:MAX_LISTED]),
        },
        "axes": {"up": "z", "handedness": "right"},
        "units": _units(scene.unit_settings, cleaner),
        "time": _time(scene, cleaner),
        "mode": bpy.context.mode.lower(),
        "selection": {
            "ids": nsmallest(MAX_SELECTED, reader.selected),
            "active": name_of(active) if active else None,
            "count": len(reader.selected),
            "truncated": len(reader.selected) > MAX_SELECTED,
        },
        "camera": name_of(scene.camera) if scene.camera else None,
        "render": _render(scene),
        "counts": _counts(bpy.data, reader.counts),
        "truncated": {
            "objects": len(reader.texts) < reader.total,
            "total": reader.total,
            "limit": reader.limits["max_patched_objects"],
        },
        "materials": [{"name": name_of(each), "users": each.users}
                      for each in bpy.data.materials[:MAX_LISTED]],
        "collections": _collections(scene),
    }
    result["warnings"] = _missing_files()
    dropped = cleaner.dropped + sum(reader.not_finite.values())
    if dropped:
        result["warnings"].append({"code": "number_not_finite", "count": dropped})
    listed = result["materials"] + result["collections"]
    replaced = len(reader.replaced) + sum(REPLACED in each["name"] for each in listed)
    if replaced:
        result["warnings"].append({"code": "name_not_utf8", "count": replaced})
    return without_nothing(result)


def stamp(change_count):
    """The number in this link and the time, which do not count as changes."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    return {"change_count": change_count, "captured_at": now.replace("+00:00", "Z")}


# --- The document


def open_document(just_loaded=False):
    """In the handlers of loading, Blender still says whether the file before was modified."""
    path = bpy.data.filepath
    return {
        "path": short_text(path, 4096) or None,
        "name": short_text(os.path.basename(path)) or unsaved_name(),
        "modified": (bpy.data.is_dirty or sharing.keeps_modified()) and not just_loaded,
    }


def unsaved_name():
    """Of this document alone, because servers keep notes of a document without a path by its name."""
    # Blender empties it when another document is opened, and at no other time.
    return bpy.app.driver_namespace.setdefault(
        _UNSAVED, strftime("unsaved %Y-%m-%d %H:%M:%S"))


def _missing_files():
    """Warnings of the images and libraries whose file is not there."""
    # Tiles and sequences have a pattern for a path.
    images = [each for each in bpy.data.images[:MAX_CHECKED] if each.source == "FILE" and each.filepath]
    return [{"code": "file_missing", "kind": block.bl_rna.name.lower(), "name": short_text(name_of(block), 255)}
            for block in images + bpy.data.libraries[:MAX_CHECKED]
            if not block.packed_file
            and not file_exists(bpy.path.abspath(block.filepath, library=block.library))]


@lru_cache(maxsize=None)
def file_exists(path):
    """Looked at once, until a file is opened or saved: the disk may be a slow one."""
    return os.path.exists(path)


# --- Time, units, render


def is_playing():
    windows = bpy.context.window_manager.windows
    return len(windows) > 0 and windows[0].screen.is_animation_playing


def _units(units, cleaner):
    return {
        "system": units.system.lower(),
        "length": units.length_unit.lower() if units.system != "NONE" else None,
        "scale": cleaner.number(units.scale_length),
        "angle": "degrees",
    }


def _time(scene, cleaner):
    render = scene.render
    return {
        "frame": scene.frame_current,
        "start": scene.frame_start,
        "end": scene.frame_end,
        "fps": cleaner.number(render.fps / render.fps_base if render.fps_base else float("inf")),
        "playing": is_playing(),
    }


def _render(scene):
    settings = scene.render
    facts = {
        "engine": settings.engine.lower(),
        "width": settings.resolution_x,
        "height": settings.resolution_y,
        "percentage": settings.resolution_percentage,
    }
    if settings.engine == "CYCLES" and hasattr(scene, "cycles"):
        facts["samples"] = scene.cycles.samples
    elif settings.engine.startswith("BLENDER_EEVEE"):
        facts["samples"] = scene.eevee.taa_render_samples
    return facts


# --- Of the whole file


def _counts(data, by_type):
    """Always of everything, also when objects are left out."""
    kinds = ("meshes", "lights", "cameras", "materials", "images", "collections")
    return dict(
        {kind: len(getattr(data, kind)) for kind in kinds},
        objects=sum(by_type.values()),
        by_type={kind: count for kind, count in sorted(by_type.items()) if count},
    )


def _collections(scene):
    """The tree as a list, parents first; one linked in two places is there twice."""
    listed = []
    for name, collection, parent in _walk(scene.collection):
        if len(listed) == MAX_LISTED:
            break
        listed.append({"name": name, "parent": parent, "objects": len(collection.objects)})
    return listed


def memberships(scene):
    """The collections of each object, from one walk: `users_collection` walks them per object."""
    members, seen = {}, set()
    for name, collection, _ in _walk(scene.collection):
        if name not in seen:
            seen.add(name)
            for item in names_of(collection.objects):
                members.setdefault(item, []).append(name)
    return members


def _walk(root):
    waiting, entered = [(root, None)], set()
    while waiting:
        collection, parent = waiting.pop()
        name = name_of(collection)
        yield name, collection, parent
        if name not in entered:
            entered.add(name)
            waiting.extend((child, name) for child in reversed(collection.children[:]))
