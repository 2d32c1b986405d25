"""Runs the tests of a file inside Blender: an uncaught failure ends Blender with exit code 1."""

import json
import os
import sys
import unittest

import bpy

ADDON = "service_cli_link"


class Clock:
    """Seconds that go on only when told, or by `step` with each look at it."""

    def __init__(self):
        self.now = 1000.0
        self.step = 0.0

    def __call__(self):
        self.now += self.step
        return self.now


class RecordingLink:
    """Takes what a session says, as the link does; nothing leaves Blender."""

    def __init__(self, dcc_type, on_read=None, **about):
        self.about = dict(about, dcc_type=dcc_type)
        self.on_read = on_read
        self.said = []
        self.limits = {"max_patched_objects": 100000, "max_message_bytes": 64 << 20}
        self.connected = True
        self.scene_settled = True
        self.need_scene = False
        self.scene_wanted = True
        self.pictured_at = None
        self.notes, self.clients = ([], None), []
        self.patches = []
        self.last = None
        self.shown = []

    def of(self, kind):
        return [args for name, args in self.said if name == kind]

    def patch_scene(self, *args):
        self.said.append(("patch_scene", args))
        self.patches.append(args)

    def set_scene(self, scene):
        self.said.append(("set_scene", (scene,)))
        self.scenes()
        self.patches.append(())
        self.shown.append(scene)

    def scenes(self):
        """What readers had after each patch."""
        for members, objects, *whole in self.patches[len(self.shown):]:
            last = [{}, {}] if whole and whole[0] else [dict(each) for each in self.last]
            for known, given in zip(last, (members, objects)):
                known.update(given)
                for name in [name for name in known if known[name] is None]:
                    del known[name]
            self.last = last
            self.shown.append(scene_of(*last))
        return self.shown

    def record(self, action, **members):
        self.said.append(("record", (action, members.get("params"))))

    def log(self, message, session_id, _source, stream, level):
        self.said.append(("log", (message, stream, level, session_id)))

    def open_events(self, session_id, **bounds):
        self.said.append(("open_events", (session_id, bounds)))

    def stop(self, reason, clear=False):
        self.said.append(("stop", (reason, clear)))

    def put_artefact(self, **members):
        self.said.append(("put_artefact", (members,)))

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **_named: self.said.append((name, args))


def scene_of(members, objects):
    return dict(members, objects=[json.loads(text) for text in objects.values()])


def collect(detail, limits=None, document=None, identities=None):
    """The scene as a fresh look has it."""
    import time

    from service_cli_link import identity, scene_facts, scene_reader

    limits = dict({"max_patched_objects": 100000, "max_message_bytes": 64 << 20}, **(limits or {}))
    identities = identities or identity.Identities()
    reader = scene_reader.SceneReader(detail, limits, time.monotonic, identities)
    reader.note({}, scene_reader.EVERYTHING)
    reader.work(1e9)
    return scene_of(scene_facts.members(reader, document), reader.take())


def enable():
    import addon_utils

    return addon_utils.enable(ADDON, default_set=True)


def session(clock=None, **settings):
    """A started session of the installed add-on that talks to a RecordingLink."""
    from service_cli_link import link_session
    from service_cli_link.preferences import DEFAULTS

    made = link_session.LinkSession(
        DEFAULTS._replace(**settings), clock or Clock(), RecordingLink
    )
    made.start()
    return made


def empty_scene():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    enable()


def add(name, data=None, parent=None):
    item = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(item)
    item.parent = parent
    return item


def render(path="", animation=False):
    """Written where `path` says."""
    prepare_render(path)
    bpy.ops.render.render(write_still=bool(path), animation=animation)


def prepare_render(path):
    """A small picture, by the only engine that needs no graphics card."""
    scene = bpy.context.scene
    if scene.camera is None:
        scene.camera = add("Cam", bpy.data.cameras.new("C"))
    scene.render.engine = "CYCLES"
    scene.cycles.samples = 1
    scene.cycles.use_denoising = False
    scene.render.resolution_x = 32
    scene.render.resolution_y = 24
    scene.render.resolution_percentage = 100
    scene.render.image_settings.file_format = "PNG"
    scene.render.filepath = path


def main(module):
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromModule(sys.modules[module])
    result = unittest.TextTestRunner(stream=sys.__stderr__, verbosity=2).run(suite)
    sys.__stderr__.flush()
    # Blender goes on after an exception in a script, and os._exit leaves nothing half done here.
    if not result.wasSuccessful() or result.testsRun == 0:
        raise SystemExit(1)
