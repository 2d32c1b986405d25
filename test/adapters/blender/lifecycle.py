"""The installed add-on comes, connects only when asked, and leaves nothing behind."""

import os
import sys
import threading
import unittest

import addon_utils
import bpy

sys.path.insert(0, os.path.dirname(__file__))
import harness


MENUS = ("VIEW3D_MT_object", "VIEW3D_MT_object_context_menu")


def traces():
    """All that an add-on can leave in Blender."""
    lists = [name for name in dir(bpy.app.handlers) if name.endswith(("_post", "_pre", "_init"))]
    lists += ["render_complete", "render_cancel", "render_write", "render_stats"]
    return {
        "handlers": {name: list(getattr(bpy.app.handlers, name)) for name in lists},
        "stdout": sys.stdout,
        "stderr": sys.stderr,
        "threads": sorted(each.name for each in threading.enumerate()),
        "operators": [name for name in dir(bpy.ops.service_cli)],
        "panels": [name for name in dir(bpy.types) if "service_cli" in name.lower()],
        "menu": [each.__name__ for menu in MENUS
                 for each in getattr(bpy.types, menu)._dyn_ui_initialize()],
    }


def running():
    return sys.modules["service_cli_link.preferences"].RUNNING


class Lifecycle(unittest.TestCase):
    def setUp(self):
        self.clean = traces()

    def tearDown(self):
        addon_utils.disable(harness.ADDON, default_set=True)
        for name in ("SERVICE_HOST_URL", "SERVICE_HOST_TOKEN"):
            os.environ.pop(name, None)

    def test_it_was_installed_with_its_link_beside_it(self):
        module = harness.enable()
        self.assertIn("service_host_link", os.listdir(os.path.dirname(module.__file__)))
        self.assertEqual(module.bl_info["name"], "service-cli link")
        self.assertTrue(module.__file__.startswith(os.environ["BLENDER_USER_SCRIPTS"]))
        # The search of Blender finds what is in a menu.
        added = len(traces()["menu"]) - len(self.clean["menu"])
        self.assertEqual((added, traces()["menu"].count("draw_menu")), (2, 2))

    def test_it_does_not_connect_unasked(self):
        harness.enable()
        self.assertIsNone(running().session)
        self.assertEqual(traces()["threads"], self.clean["threads"])
        self.assertEqual(traces()["handlers"], self.clean["handlers"])

    def test_switched_off_it_leaves_nothing_behind(self):
        for _ in range(2):
            harness.enable()
            bpy.ops.service_cli.connect()
            self.assertNotEqual(traces()["handlers"], self.clean["handlers"])
            self.assertIsNot(sys.stdout, self.clean["stdout"])
            self.assertIsNotNone(running().session)
            addon_utils.disable(harness.ADDON, default_set=True)
            self.assertEqual(traces(), self.clean)

    def test_quitting_keeps_what_was_shared_and_switching_off_removes_it(self):
        for end, said in (
            (addon_utils.disable_all, ("quit", False)),
            (lambda: addon_utils.disable(harness.ADDON), ("the add-on was switched off", True)),
            (lambda: bpy.ops.service_cli.disconnect(), ("the user disconnected", True)),
        ):
            harness.enable()
            running().session = session = harness.session()
            end()
            self.assertEqual(session.link.of("stop"), [said])
            addon_utils.disable(harness.ADDON)

    def test_it_connects_again_when_blender_has_loaded_a_template_or_its_preferences(self):
        harness.enable()
        bpy.ops.wm.save_userpref()
        for load in (
            lambda: bpy.ops.wm.read_homefile(app_template="2D_Animation"),
            lambda: bpy.ops.wm.read_homefile(app_template="", use_factory_startup=True),
            bpy.ops.wm.read_userpref,
        ):
            bpy.ops.service_cli.connect()
            session = running().session
            load()
            self.assertIsNotNone(running().session)
            self.assertIsNot(running().session, session)
            self.assertEqual(session.link.status().state, "off")
        bpy.ops.service_cli.disconnect()
        bpy.ops.wm.read_userpref()
        self.assertIsNone(running().session)

    def test_registered_anew_from_changed_files_it_works(self):
        import importlib

        module = harness.enable()
        bpy.ops.service_cli.connect()
        module.unregister()
        old = sys.modules["service_cli_link.link_session"]
        importlib.reload(module)
        module.register()
        self.assertIsNot(sys.modules["service_cli_link.link_session"], old)
        bpy.ops.service_cli.connect()
        self.assertIsNotNone(running().session)

    def test_a_server_in_the_environment_is_a_request_to_connect(self):
        os.environ["SERVICE_HOST_URL"] = "http://127.0.0.1:9/host"
        os.environ["SERVICE_HOST_TOKEN"] = "x" * 43
        harness.enable()
        self.assertIsNotNone(running().session)

    def test_the_check_box_connects_at_the_next_start(self):
        harness.enable()
        bpy.context.preferences.addons[harness.ADDON].preferences.connect_on_startup = True
        addon_utils.disable(harness.ADDON)  # as at the end of Blender: the preferences stay
        harness.enable()
        self.assertIsNotNone(running().session)


harness.main(__name__)
