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

    def test_has_all_documented_names(self):
        for name in link.__all__:
            self.assertTrue(hasattr(link, name), name)

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

    def test_varies_by_a_fifth(self):
        for failures in range(20):
            middle = link.backoff_seconds(failures, 0.5)
            self.assertAlmostEqual(link.backoff_seconds(failures, 0.0), 0.8 * middle)
            self.assertAlmostEqual(link.backoff_seconds(failures, 1.0), 1.2 * middle)


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

    def test_a_patch_has_what_changed_since_it_was_sent(self):
        texts = link.SceneTexts()
        texts.replace({"n": "1"}, {id: '{"id":"%s","x":"%s"}' % (id, "y" * 999) for id in "ab"})
        self.assertIsNone(texts.patch())  # nothing was sent yet
        texts.sent()
        texts.change({"m": "2", "n": None}, {"a": None, "c": '{"id":"c"}'})
        texts.change({}, {"c": '{"id":"c","x":1}', "d": None})
        self.assertEqual(json.loads(texts.patch().join([b"{", b"}"])), {
            "objects": [{"id": "c", "x": 1}], "removed": ["a", "d"], "members": {"m": 2},
            "unset": ["n"]})
        self.assertEqual(texts.length, sum(map(len, [
            *texts.members.values(), *texts.objects.values()])))
        texts.sent()
        texts.replace({"m": "2"}, {"c": '{"id":"c","x":1}', "b": texts.objects["b"]})
        self.assertIsNone(texts.patch())  # another order

    def test_a_whole_scene_has_all_members_and_objects(self):
        texts = link.SceneTexts()
        texts.replace({"n": "1"}, {"a": '{"id":"a"}', "b": '{"id":"b"}'})
        self.assertEqual(texts.whole(), b'"scene":{"n":1,"objects":[{"id":"a"},{"id":"b"}]}')
        texts.replace({"n": "1"}, None)
        self.assertEqual(texts.whole(), b'"scene":{"n":1}')
        texts.replace(None, None)
        self.assertEqual(texts.whole(), b'"scene":null')

    def test_counts_levels(self):
        value = 1
        for levels in range(1, 70):
            value = [value] if levels % 2 else {"a": value, "b": []}
            self.assertEqual(link.deeper_than(value, 60), levels > 60, levels)

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


class Backlogs(unittest.TestCase):
    def test_keeps_the_order_of_each_session_whatever_happens(self):
        for seed in range(300):
            chance = random.Random(seed)
            backlog, sent, taken = link.Backlog(40), {"a": 0, "b": 0}, {"a": [], "b": []}
            for _ in range(chance.randrange(5, 200)):
                step = chance.randrange(10)
                if step < 6:
                    session = chance.choice("ab")
                    sent[session] += 1
                    backlog.add("entry", session, str(sent[session]))
                elif not backlog.flight and backlog.waiting:
                    batch = backlog.take(5, 12)
                    self.assertLessEqual(len(batch), 5)
                    self.assertEqual(len({item.session for item in batch}), 1)
                elif backlog.flight and step < 8:
                    for item in backlog.flight:
                        taken[item.session].append(int(item.text))
                    backlog.taken()
                elif step == 8:
                    backlog.restore()
                elif backlog.flight:
                    backlog.give_up(chance.choice([None, 0, 2, 99]))
                self.assertLessEqual(len(backlog), 40)
            for session in "ab":
                self.assertEqual(taken[session], sorted(set(taken[session])), "seed %d" % seed)
            accounted = len(backlog) + backlog.dropped + sum(map(len, taken.values()))
            self.assertEqual(accounted, sum(sent.values()), "seed %d" % seed)

    def test_takes_what_opens_and_closes_a_session_in_its_place(self):
        backlog = link.Backlog()
        for kind in ("open", "entry", "entry", "close", "entry"):
            backlog.add(kind, "a", kind)
        backlog.add("entry", "b", "other")
        batches = []
        while backlog.waiting:
            batches.append([(item.session, item.kind) for item in backlog.take(100, 1000)])
            backlog.taken()
        self.assertEqual(batches, [
            [("a", "open")], [("a", "entry")] * 2, [("a", "close")], [("a", "entry")],
            [("b", "entry")]])


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

    def test_shows_the_newest_error_that_is_not_over(self):
        host = link.HostLink("maya", env={})
        host._fail("scene", "first")
        host._fail("link", "second")
        self.assertEqual(host.status().last_error, "second")
        host._recovered("link")
        self.assertEqual(host.status().last_error, "first")

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
