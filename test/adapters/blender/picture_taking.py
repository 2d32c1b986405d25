"""Pictures that fit, at the right moment, for those who may have them."""

import os
import struct
import sys
import tempfile
import unittest
from types import SimpleNamespace

import bpy

sys.path.insert(0, os.path.dirname(__file__))
import harness

harness.enable()
from service_cli_link import pictures
from service_cli_link.service_host_link import Busy, NoPicture

RED, BLUE = b"\xff\0\0\x80", b"\0\0\xff\xff"


def noise(width, height):
    return os.urandom(4 * width * height)


class Files(unittest.TestCase):
    def test_are_read_by_blender_as_they_were_meant(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "two.png")
            with open(path, "wb") as file:
                file.write(pictures.encode(3, 2, RED * 3 + BLUE * 3))
            image = bpy.data.images.load(path)
            self.assertEqual(tuple(image.size), (3, 2))
            self.assertEqual(list(image.pixels[:4]), [1.0, 0.0, 0.0, 1.0])
            self.assertEqual(list(image.pixels[-4:]), [0.0, 0.0, 1.0, 1.0])
            bpy.data.images.remove(image)


class Scaling(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "whole.png")
        with open(self.path, "wb") as file:
            file.write(pictures.encode(400, 200, noise(400, 200)))

    def tearDown(self):
        self.folder.cleanup()

    def test_meets_the_width_and_the_bytes(self):
        before = set(bpy.data.user_map())
        png = pictures._scaled(self.path, 100, 10 ** 6)
        self.assertEqual(pictures.png_size(png), (100, 50))
        small = pictures._scaled(self.path, 100, 5000)
        self.assertLessEqual(len(small), 5000)
        width, height = pictures.png_size(small)
        self.assertTrue(10 < width < 100 and abs(width - 2 * height) <= 2, (width, height))
        self.assertEqual(set(bpy.data.user_map()), before)

    def test_gives_up_what_cannot_be_met(self):
        with self.assertRaises(RuntimeError):
            pictures._scaled(self.path, 400, 20)


class Moments(unittest.TestCase):
    """With a Blender in place of this one, which has no window."""

    def setUp(self):
        self.window = SimpleNamespace(width=640, height=400, screen=SimpleNamespace(areas=[], is_temporary=False))
        self.windows = [self.window]
        self.shot = pictures.encode(64, 40, noise(64, 40))
        self.seen = []
        app = SimpleNamespace(is_job_running=lambda job: False, background=False)
        manager = SimpleNamespace(windows=self.windows)
        context = SimpleNamespace(window_manager=manager)
        pictures.bpy = SimpleNamespace(app=app, context=context)
        self.real = pictures._screenshot
        pictures._screenshot = self._screenshot

    def tearDown(self):
        pictures.bpy, pictures._screenshot = bpy, self.real

    def _screenshot(self, window, path):
        self.seen.append((window, path))
        with open(path, "wb") as file:
            file.write(self.shot)

    def view(self, pixels):
        """A 3D view of 64 x 40 pixels, which is drawn like this."""
        rows = [[0.0] * 4] * 4
        space = SimpleNamespace(region_3d=SimpleNamespace(view_matrix=rows, window_matrix=rows))
        region = SimpleNamespace(width=64, height=40)
        for name, value in (("current_view", lambda: (self.window, space, region)),
                            ("_drawn", lambda _w, _s, _r, size, _m: pixels(*size))):
            self.addCleanup(setattr, pictures, name, getattr(pictures, name))
            setattr(pictures, name, value)

    def test_of_the_view_are_packed_by_whoever_sends_them_when_they_fit_in_any_case(self):
        drawn = noise(64, 40)
        self.view(lambda width, height: drawn[: 4 * width * height])
        picture = pictures.take("viewport", 100, 10 ** 6)
        self.assertEqual(picture.png(), pictures.encode(64, 40, drawn))
        small = pictures.take("viewport", 100, 2000)
        self.assertLessEqual(len(small.png() if callable(small.png) else small.png), 2000)

    def test_leave_no_file_behind_also_when_they_fail(self):
        picture = pictures.take("window", 100, 10 ** 6)
        self.assertEqual(picture, (self.shot, None))
        self.shot = b"no picture"
        with self.assertRaises(struct.error):
            pictures.take("window", 100, 10 ** 6)
        for _, path in self.seen:
            self.assertFalse(os.path.exists(os.path.dirname(path)))
        self.assertEqual(len(self.seen), 2)

    def test_are_of_the_largest_window_and_never_of_the_preferences(self):
        screen, of_settings = (SimpleNamespace(areas=[], is_temporary=each) for each in (False, True))
        small = SimpleNamespace(width=100, height=100, screen=screen)
        settings = SimpleNamespace(width=900, height=900, screen=of_settings)
        self.windows[:0] = [small, settings]
        pictures.take("window", 100, 10 ** 6)
        self.assertEqual([window for window, _ in self.seen], [self.window])

    def test_are_not_of_what_is_not_there(self):
        with self.assertRaises(NoPicture) as caught:
            pictures.take("viewport", 100, 10 ** 6)
        self.assertEqual(caught.exception.code, "no_window")
        self.windows.clear()
        with self.assertRaises(NoPicture):
            pictures.take("window", 100, 10 ** 6)


harness.main(__name__)
