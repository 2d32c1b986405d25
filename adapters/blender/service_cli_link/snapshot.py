"""The scene as one JSON object, schema dcc-scene/1: all members but its objects."""

import datetime

import bpy

from . import finite, object_facts, scene_facts


def members(reader, warnings=(), document=None):
    """Two calls for the same state are equal: `stamp` adds what is new in each."""
    cleaner = finite.Cleaner()
    scene = bpy.context.scene
    layer = bpy.context.view_layer
    windows = bpy.context.window_manager.windows
    screen = windows[0].screen if len(windows) else None
    active = layer.objects.active
    result = {
        "schema": "dcc-scene/1",
        "detail": reader.detail,
        "dcc": scene_facts.application(bpy),
        "document": finite.without_nothing(document or scene_facts.document(bpy)),
        "scene": {
            "name": scene.name_full,
            "view_layer": layer.name,
            "scenes": [each.name_full for each in bpy.data.scenes[:200]],
        },
        "time": scene_facts.time(scene, screen, cleaner),
        "mode": bpy.context.mode.lower(),
        "selection": scene_facts.selection(
            sorted(reader.selected), active.name_full if active else None),
        "camera": scene.camera.name_full if scene.camera else None,
        "render": scene_facts.render(scene),
        "counts": scene_facts.counts(bpy.data, reader.counts),
        "truncated": {
            "objects": len(reader.texts) < reader.total,
            "total": reader.total,
            "limit": reader.limits["max_patched_objects"],
        },
    }
    result.update(scene_facts.conventions(scene, cleaner))
    result.update(view(cleaner))
    if reader.detail != object_facts.SKELETON:
        result["materials"] = scene_facts.materials(bpy.data)
        result["collections"] = scene_facts.collections(scene)
    if reader.detail == object_facts.FULL:
        result["geometry"] = scene_facts.geometry(bpy.data)
    result["warnings"] = list(warnings)
    dropped = cleaner.dropped + sum(reader.not_finite.values())
    if dropped:
        result["warnings"].append({"code": "number_not_finite", "count": dropped})
    return finite.without_nothing(result)


def view(cleaner=None):
    """The member `viewport`, where there is one."""
    if bpy.app.background:
        return {}
    facts = scene_facts.viewport(bpy.context.window_manager, cleaner or finite.Cleaner())
    return {} if facts is None else {"viewport": facts}


def stamp(change_count):
    """The number in this link and the time, which do not count as changes."""
    return {"change_count": change_count, "captured_at": now_text()}


def now_text():
    now = datetime.datetime.now(datetime.timezone.utc)
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
