"""The scene as one JSON object: schema dcc-scene/1."""

import datetime

import bpy

from . import finite, fitting, object_facts, scene_facts

DEFAULT_MAX_BYTES = 8 * 1024 * 1024
DEFAULT_MAX_OBJECTS = 2000


def collect(detail, limits=None, revision=None, warnings=(), document=None):
    """Reads Blender's state; main thread only. `limits` are those of the server's welcome."""
    document = document or scene_facts.document(bpy)
    limits = limits or {}
    cleaner = finite.Cleaner()
    scene = bpy.context.scene
    layer = bpy.context.view_layer
    windows = bpy.context.window_manager
    screen = windows.windows[0].screen if len(windows.windows) else None
    names = sorted(item.name_full for item in layer.objects.selected)
    active = layer.objects.active
    everything = scene.objects[:]
    result = {
        "schema": "dcc-scene/1",
        "revision": revision,
        "captured_at": now_text(),
        "detail": detail,
        "dcc": scene_facts.application(bpy),
        "document": finite.without_nothing(document),
        "scene": {
            "name": scene.name_full,
            "view_layer": layer.name,
            "scenes": [each.name_full for each in finite.first(bpy.data.scenes, 200)],
        },
        "time": scene_facts.time(scene, screen),
        "mode": bpy.context.mode.lower(),
        "selection": scene_facts.selection(names, active.name_full if active else None),
        "camera": scene.camera.name_full if scene.camera else None,
        "render": scene_facts.render(scene),
        "counts": scene_facts.counts(bpy.data, everything),
    }
    result.update(scene_facts.conventions(scene))
    if not bpy.app.background:
        view = scene_facts.viewport(windows, cleaner)
        if view is not None:
            result["viewport"] = view
    if detail != object_facts.SKELETON:
        result["materials"] = scene_facts.materials(bpy.data)
        result["collections"] = scene_facts.collections(scene)
    members = None
    if detail == object_facts.FULL:
        members = scene_facts.memberships(scene)
        result["geometry"] = scene_facts.geometry(bpy.data)
    _add_objects(result, everything, detail, limits, cleaner, set(names), members)
    result["warnings"] = list(warnings)
    if cleaner.dropped:
        result["warnings"].append({"code": "number_not_finite", "count": cleaner.dropped})
    return finite.without_nothing(result)


def _add_objects(result, everything, detail, limits, cleaner, selected, members):
    limit = limits.get("max_scene_objects") or DEFAULT_MAX_OBJECTS
    objects = [
        object_facts.object_facts(item, detail, cleaner, selected, members)
        for item in everything[:limit]
    ]
    # The other half is room for an estimate that was wrong, and for the rest of the message.
    most_bytes = (limits.get("max_message_bytes") or DEFAULT_MAX_BYTES) // 2
    kept = fitting.fitting(objects, most_bytes)
    result["objects"] = objects[:kept]
    result["truncated"] = {
        "objects": kept < len(everything),
        "total": len(everything),
        "limit": limit if kept == len(objects) else kept,
    }


def now_text():
    now = datetime.datetime.now(datetime.timezone.utc)
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
