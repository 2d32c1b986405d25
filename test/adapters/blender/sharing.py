"""Images, renders and documents are sent when somebody asks, and files made for it go."""

import os
import sys
import unittest

import bpy

sys.path.insert(0, os.path.dirname(__file__))
import harness

harness.enable()
from service_cli_link import preferences

FOLDER = sys.argv[sys.argv.index("--") + 1]


class Upload:
    uri = "artefact://sha256/00"
    error = None


class Sharing(unittest.TestCase):
    def setUp(self):
        harness.empty_scene()
        self.running = preferences.RUNNING = fresh_running()
        self.session = self.running.session = harness.session()
        self.session.on_rendered = self.running._finished_render
        self.addCleanup(self.running.disconnect)
        self.link = self.session.link

    def sent(self):
        return [args[0] for args in self.link.of("put_artefact")]

    def assert_sent_and_gone(self, mime, begins):
        [members] = self.sent()
        self.assertEqual(members["mime"], mime)
        with open(members["path"], "rb") as file:
            self.assertEqual(file.read(len(begins)), begins)
        members["on_done"](Upload)
        self.assertFalse(os.path.exists(os.path.dirname(members["path"])))
        self.assertEqual(self.running.note, "Shared " + os.path.basename(members["path"]))

    def test_the_document_as_it_is_now_without_saving_it(self):
        harness.add("Unsaved")
        records = len(self.link.of("record"))
        self.assertEqual(bpy.ops.service_cli.share_document(), {"FINISHED"})
        self.assertEqual(bpy.data.filepath, "")
        self.assertEqual(len(self.link.of("record")), records)
        self.assert_sent_and_gone("application/x-blender", b"BLENDER")

    def test_a_saved_document_with_what_a_script_changed_since(self):
        path = os.path.join(FOLDER, "saved.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.data.objects.new("Later", None).use_fake_user = True
        self.assertFalse(bpy.data.is_dirty)  # Blender does not count changes made by scripts
        bpy.ops.service_cli.share_document()
        [members] = self.sent()
        self.assertEqual(os.path.basename(members["path"]), "saved.blend")
        with bpy.data.libraries.load(members["path"]) as (held, _):
            self.assertEqual(held.objects, ["Later"])
        self.assertEqual(bpy.data.filepath, path)
        members["on_done"](Upload)
        self.assertFalse(os.path.exists(members["path"]))
        self.assertTrue(os.path.exists(path))

    def test_what_does_not_exist_is_refused_with_a_reason(self):
        # A warning of an operator is printed by Blender and ends in CANCELLED.
        self.assertEqual(bpy.ops.service_cli.share_render(), {"CANCELLED"})
        self.assertEqual(self.sent(), [])

    def test_each_render_is_shared_when_that_is_switched_on(self):
        self.session.apply(self.session.settings._replace(renders=True))
        harness.render()
        self.running.pump()
        self.assert_sent_and_gone("image/png", b"\x89PNG")


def fresh_running():
    from service_cli_link.running import Running
    from service_cli_link.server import Server

    return Running(Server())


harness.main(__name__)
