"""The snapshot that the link was given last, changed in place of a new one where little changed."""


class ToldScene:
    """Unchanged objects stay the very same, so that the link need not serialise them again."""

    def __init__(self):
        self.scene = None
        self._places = {}

    def forget(self):
        self.scene = None
        self._places = {}

    def facts_of(self, name):
        """What was told of one object; None: it is not in the list."""
        place = self._places.get(name)
        return None if place is None else self.scene["objects"][place]

    def replace(self, scene):
        """Takes a whole snapshot; False when it is equal to the one before."""
        objects = [self._kept(facts) for facts in scene["objects"]]
        scene = dict(scene, objects=objects)
        if scene == self.scene:
            return False
        self.scene = scene
        self._places = {facts["id"]: place for place, facts in enumerate(objects)}
        return True

    def change(self, objects, members):
        """Takes the facts of a few objects and some members; False when nothing differs."""
        differing = [facts for facts in objects if facts != self.facts_of(facts["id"])]
        if not differing and all(self.scene.get(name) == value for name, value in members.items()):
            return False
        everything = list(self.scene["objects"])
        for facts in differing:
            everything[self._places[facts["id"]]] = facts
        self.scene = dict(self.scene, objects=everything, **members)
        return True

    def _kept(self, facts):
        before = self.facts_of(facts["id"])
        return before if before == facts else facts
