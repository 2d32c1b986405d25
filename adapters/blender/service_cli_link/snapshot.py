"""The scene as one JSON object: schema dcc-scene/1."""

import datetime

import bpy

from . import finite, fitting, object_facts, scene_facts

DEFAULT_MAX_BYTES = 8 * 1024 * 1024
DEFAULT_MAX_OBJECTS = 2000
# The names of 10,000 objects are about 200 KB of JSON; `truncated` has the number of all.
MAX_OMITTED = 10000


def collect(detail, limits=None, warnings=(), document=None):
    """Reads Blender's state; main thread only. `limits` are those of the server's welcome.

    Two snapshots of the same state are equal: `stamped` adds what is new in each.
    """
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
    result.update(view(cleaner))
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


def view(cleaner=None):
    """The member `viewport`, where there is one."""
    if bpy.app.background:
        return {}
    facts = scene_facts.viewport(bpy.context.window_manager, cleaner or finite.Cleaner())
    return {} if facts is None else {"viewport": facts}


def object_again(item, before, cleaner, detail):
    """The facts of an object that moved; `before` are those told of it."""
    name = before["id"]
    selected = (name,) if before.get("selected") else ()
    members = {name: before["collections"]} if "collections" in before else None
    return object_facts.object_facts(item, detail, cleaner, selected, members)


def stamped(scene, change_count):
    """The snapshot with its number in this link and its time, which do not count as changes."""
    return dict(scene, change_count=change_count, captured_at=now_text())


def _add_objects(result, everything, detail, limits, cleaner, selected, members):
    limit = limits.get("max_scene_objects") or DEFAULT_MAX_OBJECTS
    # Half of a message; the rest is for the omitted names, the other members and a wrong estimate.
    most_bytes = (limits.get("max_message_bytes") or DEFAULT_MAX_BYTES) // 2
    names = [item.name_full for item in everything]
    wanted = None
    if len(names) > limit:
        wanted = _most_wanted_first(everything, names, selected, result)
        everything = [everything[index] for index in wanted[:limit]]
    objects = [
        object_facts.object_facts(item, detail, cleaner, selected, members)
        for item in everything[:limit]
    ]
    kept = fitting.fitting(objects, most_bytes)
    if wanted is None and kept < len(names):
        wanted = _most_wanted_first(everything, names, selected, result)
        objects = [objects[index] for index in wanted]
    result["objects"] = objects[:kept]
    result["truncated"] = {
        "objects": kept < len(names),
        "total": len(names),
        "limit": limit if kept == len(objects) else kept,
    }
    if wanted is not None:
        omitted = [names[index] for index in sorted(wanted[kept:])][:MAX_OMITTED]
        result["omitted"] = omitted[: fitting.fitting(omitted, most_bytes // 2)]


def _most_wanted_first(everything, names, selected, result):
    """Indices: the camera, cameras and lights, the active and the selected objects, then the rest."""
    active = result["selection"]["active"]

    def rank(index):
        if names[index] == result["camera"]:
            return 0
        if everything[index].type in ("CAMERA", "LIGHT"):
            return 1
        if names[index] == active:
            return 2
        return 3 if names[index] in selected else 4

    return sorted(range(len(names)), key=rank)  # stable: scene order within a rank


def now_text():
    now = datetime.datetime.now(datetime.timezone.utc)
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
