"""What a snapshot says beside the objects: document, time, units, selection, camera, viewport."""

import os
from time import strftime

from . import finite, share

MAX_SELECTED = 200
MAX_LISTED = 200
_UNSAVED = "service_cli_unsaved"
_OPENED = "service_cli_opened"


def application(bpy):
    return {
        "type": "blender",
        "version": bpy.app.version_string,
        "pid": os.getpid(),
        "mode": "background" if bpy.app.background else "gui",
        "display_name": "Blender " + bpy.app.version_string,
    }


def document(bpy, just_loaded=False):
    """In the handlers of loading, Blender still says whether the file before was modified."""
    path = bpy.data.filepath
    return {
        "path": finite.short_text(path, 4096) or None,
        "name": finite.short_text(os.path.basename(path)) or unsaved_name(bpy),
        "modified": (bpy.data.is_dirty or share.keeps_modified()) and not just_loaded,
    }


def unsaved_name(bpy):
    """Of this document alone, because servers keep notes of a document without a path by its name."""
    # Blender empties it when another document is opened, and at no other time.
    return bpy.app.driver_namespace.setdefault(
        _UNSAVED, strftime("unsaved %Y-%m-%d %H:%M:%S"))


def opened(bpy):
    """Another object for each document that is opened; the same one after it is saved elsewhere."""
    return bpy.app.driver_namespace.setdefault(_OPENED, object())


def conventions(scene, cleaner):
    units = scene.unit_settings
    return {
        "axes": {"up": "z", "handedness": "right"},
        "units": {
            "system": units.system.lower(),
            "length": units.length_unit.lower() if units.system != "NONE" else None,
            "scale": cleaner.number(units.scale_length),
            "angle": "degrees",
        },
    }


def time(scene, screen, cleaner):
    render = scene.render
    return {
        "frame": scene.frame_current,
        "start": scene.frame_start,
        "end": scene.frame_end,
        "fps": cleaner.number(render.fps / render.fps_base),
        "playing": bool(screen is not None and screen.is_animation_playing),
    }


def selection(names, active):
    return {
        "ids": names[:MAX_SELECTED],
        "active": active,
        "count": len(names),
        "truncated": len(names) > MAX_SELECTED,
    }


def render(scene):
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


def viewport(window_manager, cleaner):
    """The first 3D view of the first window that has one; None without."""
    for window in window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                return _view(area.spaces.active, cleaner)
    return None


def _view(space, cleaner):
    region = space.region_3d
    if region is None:
        return None
    back = region.view_matrix.inverted_safe()
    return finite.without_nothing(
        {
            "shading": space.shading.type.lower(),
            "camera_view": region.view_perspective == "CAMERA",
            "location": cleaner.numbers(back.translation),
            "rotation": cleaner.degrees(back.to_euler()),
        }
    )


def counts(data, by_type):
    """Always of everything, also when objects are left out."""
    return {
        "objects": sum(by_type.values()),
        "meshes": len(data.meshes),
        "lights": len(data.lights),
        "cameras": len(data.cameras),
        "materials": len(data.materials),
        "images": len(data.images),
        "collections": len(data.collections),
        "by_type": {kind: count for kind, count in sorted(by_type.items()) if count},
    }


def geometry(data):
    vertices = polygons = 0
    for mesh in data.meshes:
        vertices += len(mesh.vertices)
        polygons += len(mesh.polygons)
    return {"vertices": vertices, "polygons": polygons}


def materials(data):
    listed = data.materials[:MAX_LISTED]
    return [{"name": each.name_full, "users": each.users} for each in listed]


def collections(scene):
    """The tree as a list, parents first; one linked in two places is there twice."""
    listed = []
    for collection, parent in _walk(scene.collection):
        if len(listed) == MAX_LISTED:
            break
        name = collection.name_full
        listed.append({"name": name, "parent": parent, "objects": len(collection.objects)})
    return listed


def memberships(scene):
    """The collections of each object, from one walk: `users_collection` walks them per object."""
    members, seen = {}, set()
    for collection, _ in _walk(scene.collection):
        name = collection.name_full
        if name in seen:
            continue
        seen.add(name)
        for item in collection.objects:
            members.setdefault(item.name_full, []).append(name)
    return members


def _walk(root):
    waiting, entered = [(root, None)], set()
    while waiting:
        collection, parent = waiting.pop()
        yield collection, parent
        name = collection.name_full
        if name not in entered:
            entered.add(name)
            waiting.extend((child, name) for child in reversed(collection.children[:]))
