import ast
import json
import random
import unittest

from common import PATH, link

ALLOWED = set("""atexit base64 collections datetime errno hashlib json math os random re select socket
stat struct tempfile threading time urllib.parse uuid""".split())


class TheFile(unittest.TestCase):
    def test_is_python_3_7_with_nothing_but_these_modules(self):
        with open(PATH, encoding="utf-8") as file:
            tree = ast.parse(file.read(), feature_version=(3, 7))
        found = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found.update(name.name for name in node.names)
            elif isinstance(node, ast.ImportFrom):
                self.fail("line %d imports from %s" % (node.lineno, node.module))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                self.assertNotIn(node.func.id, ("__import__", "eval", "exec", "compile"))
        self.assertEqual(found - ALLOWED, set())

    def test_defines_each_name_once(self):
        with open(PATH, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        names = [node.name for node in tree.body
                 if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
        names += [name.id for node in tree.body if isinstance(node, ast.Assign)
                  for target in node.targets for name in ast.walk(target)
                  if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)]
        self.assertEqual(sorted(names), sorted(set(names)))

    def test_uses_no_method_that_came_after_3_7(self):
        with open(PATH, encoding="utf-8") as file:
            text = file.read()
        for name in ("removeprefix", "removesuffix", "isqrt", "fromisoformat(", "to_thread",
                     "zip(strict", "math.prod", "randbytes", "shlex.join"):
            self.assertNotIn(name, text)


class BackOff(unittest.TestCase):
    def test_doubles_from_a_quarter_of_a_second_to_ten(self):
        waits = [link.backoff_seconds(n, 0.5) for n in range(8)]
        self.assertEqual(waits, [0.25, 0.5, 1, 2, 4, 8, 10, 10])
        self.assertEqual(link.backoff_seconds(10 ** 9, 0.5), 10)


class Json(unittest.TestCase):
    def value(self, chance, depth=0):
        kind = chance.randrange(9 if depth < 4 else 6)
        if kind < 6:
            return [None, True, chance.randrange(-9, 9), chance.random(), "aü\ud800\n", ""][kind]
        if kind < 7:
            return {"k%d" % n: self.value(chance, depth + 1) for n in range(chance.randrange(4))}
        # Only the outer levels are written in pieces: long lists are of no interest below.
        lengths = [0, 3, 64, 65, 130] if depth < 2 else [0, 3]
        return [self.value(chance, depth + 1) for n in range(chance.choice(lengths))]

    def test_is_what_json_dumps_would_write(self):
        for seed in range(60):
            value = self.value(random.Random(seed))
            data, replaced = link.encode_json(value)
            self.assertEqual(data.decode(), json.dumps(value, separators=(",", ":")))
            self.assertEqual(replaced, 0)

    def test_writes_null_for_what_json_has_not_and_leaves_the_value_alone(self):
        value = {"a": [1.0, float("nan")], "b": {"c": float("-inf")}}
        self.assertEqual(link.encode_json(value), (b'{"a":[1.0,null],"b":{"c":null}}', 2))
        self.assertEqual(value["b"]["c"], float("-inf"))

    def test_refuses_what_is_no_json_without_telling_its_content(self):
        circle = {}
        circle["again"] = [circle]
        deep = []
        for _ in range(5000):
            deep = [deep]
        for value in ({"a": {1, 2}}, {(1, 2): 3}, b"secret", circle, deep, {"secret": object()}):
            with self.assertRaises(link.NotJson) as caught:
                link.encode_json(value)
            self.assertNotIn("secret", str(caught.exception))

    def test_makes_something_of_any_params(self):
        class Vector(object):
            def __len__(self):
                return 3

            def __iter__(self):
                return iter((1, 2, 3.5))

        class Hostile(object):
            def __len__(self):
                raise RuntimeError("secret")

        params = {"v": Vector(), "s": {"b", "a"}, "h": Hostile(), "n": float("nan")}
        text = link.record_json(params)
        self.assertEqual(json.loads(text), {
            "v": [1.0, 2.0, 3.5], "s": ["a", "b"], "h": "<Hostile>", "n": None})
        self.assertEqual(link.record_json({(1, 2): 3}), '"<not JSON: TypeError>"')

    def test_makes_names_fit_for_one_line(self):
        self.assertEqual(link.one_line("a\nb\x7f"), "a b ")
        self.assertEqual(link.one_line("x" * 300), "x" * 255)
        self.assertEqual(link.one_line("😀" * 200), "😀" * 127)
        self.assertIsNone(link.one_line(""))
        self.assertIsNone(link.one_line(None))


class Statuses(unittest.TestCase):
    def test_shows_no_secret_and_says_what_to_do(self):
        host = link.HostLink("maya", url="http://me:secret@127.0.0.1/host", token="secret", env={})
        self.assertEqual(host.status()[:2], ("off", "The link is off."))
        host.start()
        host._worker.join(5)
        status = host.status()
        self.assertEqual(status.state, "refused")
        self.assertIn("must not hold a user name or password", status.text)
        for shown in (repr(host), repr(status), repr(vars(link.Candidate))):
            self.assertNotIn("secret", shown)
        host.stop()
        self.assertEqual(host.status().state, "off")

    def test_says_that_a_host_is_no_name(self):
        for host in ("a..b", "x" * 64):
            given = link.HostLink("maya", url="http://%s/host" % host, token="t", env={})
            given.start()
            given._worker.join(5)
            self.assertEqual(given.status()[:2],
                             ("refused", "Not linked: the host URL cannot be understood."))
            given.stop()

    def test_wants_url_and_token_together(self):
        host = link.HostLink("maya", url="http://127.0.0.1:1/host", env={})
        host.start()
        host._worker.join(5)
        self.assertIn("must be given together", host.status().text)
        host.stop()

    def test_refuses_only_faults_of_the_program(self):
        for arguments in ({"dcc_type": "Maya"}, {"dcc_type": ""}, {"dcc_type": "a", "mode": "x"}):
            with self.assertRaises(ValueError):
                link.HostLink(**arguments)

    def test_fails_an_artefact_at_once_that_cannot_be_sent(self):
        host, done = link.HostLink("maya", env={}), []
        upload = host.put_artefact(on_done=done.append)
        self.assertEqual((upload.done, upload.error), (True, "give either data or path"))
        self.assertEqual(done, [])
        self.assertEqual(host.pump(), 1)
        self.assertEqual(done, [upload])
        waiting = [host.put_artefact(data=b"x") for _ in range(link.MAX_UPLOADS + 1)]
        self.assertEqual([each.done for each in waiting].count(True), 1)
        host.stop()
        self.assertEqual(waiting[0].error, "the link was stopped")


if __name__ == "__main__":
    unittest.main()
