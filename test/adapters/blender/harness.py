"""Runs the tests of a file inside Blender: an uncaught failure ends Blender with exit code 1."""

import os
import sys
import unittest

import bpy

ADDON = "service_cli_link"


class Clock:
    """Seconds that go on only when told."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class RecordingLink:
    """Takes what a session says, as the link does; nothing leaves Blender."""

    def __init__(self, dcc_type, on_read=None, **about):
        self.about = dict(about, dcc_type=dcc_type)
        self.on_read = on_read
        self.said = []
        self.limits = {"max_scene_objects": 2000, "max_message_bytes": 8 << 20}
        self.connected = True
        self.scene_settled = True
        self.need_scene = False
        self.pictured_at = None

    def of(self, kind):
        return [args for name, args in self.said if name == kind]

    def scenes(self):
        return [args[0] for args in self.of("set_scene")]

    def record(self, action, **members):
        self.said.append(("record", (action, members.get("params"))))

    def log(self, message, session_id, **members):
        self.said.append(("log", (message, members["stream"], members["level"], session_id)))

    def open_events(self, session_id, **bounds):
        self.said.append(("open_events", (session_id, bounds)))

    def stop(self, reason, clear=False):
        self.said.append(("stop", (reason, clear)))

    def put_artefact(self, **members):
        self.said.append(("put_artefact", (members,)))

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args: self.said.append((name, args))


def enable():
    import addon_utils

    return addon_utils.enable(ADDON, default_set=True)


def session(clock=None, **settings):
    """A started session of the installed add-on that talks to a RecordingLink."""
    from service_cli_link import link_session
    from service_cli_link.settings import DEFAULTS

    made = link_session.LinkSession(
        DEFAULTS._replace(**settings), "0.1.0", clock or Clock(), RecordingLink
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


def main(module):
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromModule(sys.modules[module])
    result = unittest.TextTestRunner(stream=sys.__stderr__, verbosity=2).run(suite)
    sys.__stderr__.flush()
    # Blender goes on after an exception in a script, and os._exit leaves nothing half done here.
    if not result.wasSuccessful() or result.testsRun == 0:
        raise SystemExit(1)
