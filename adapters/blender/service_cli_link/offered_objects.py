"""The objects of the scene as resources: which there are, and which changed since it was told."""

from . import object_detail

# Cameras and lights first. The rest is found in the scene, and read by the template.
MAX_LISTED = 200
MAX_UPDATED = 100


class OfferedObjects:
    def __init__(self):
        self._offered = None  # True: offered; False: refused; None: neither yet
        self._touched = set()
        self._listed = None  # the names that the server has; None: it has no list

    def offer(self, link):
        """Without a list at first: `tell` brings it."""
        if not self._offered:
            link.register(object_detail.SCHEME, [], object_detail.TEMPLATES)
            self._offered = True
            self._listed = None

    def refuse(self, link):
        """Lists nothing; a read still arrives, and fails with the reason."""
        if self._offered is not False:
            link.register(object_detail.SCHEME)
            self._offered = False

    def touch(self, names):
        if len(self._touched) < MAX_UPDATED:
            self._touched.update(names)

    def tell(self, link, reader):
        if self._listed is None or reader.listing_changed:
            reader.listing_changed = False
            self._tell_list(link, reader.listed(MAX_LISTED))
        touched, self._touched = self._touched, set()
        for name in sorted(touched)[:MAX_UPDATED]:
            link.updated(object_detail.object_uri(name))

    def _tell_list(self, link, names):
        if names != self._listed:
            gone = set(self._listed or ()) - set(names)
            self._touched.update(sorted(gone)[:MAX_UPDATED])
            self._listed = names
            link.register(object_detail.SCHEME, object_detail.descriptors(names), object_detail.TEMPLATES)
