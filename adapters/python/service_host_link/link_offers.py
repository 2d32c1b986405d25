"""HostLink: resources, pictures and artefacts."""

import json
import os

from .json_text import record_json
from .limits import MAX_GONE, MAX_RESOURCES, MAX_SCHEMES, MAX_UPDATED, MAX_UPLOADS
from .read_errors import PICTURE_TARGETS
from .texts import omit_none, one_line, rfc3339
from .uploads import Upload


class LinkOffers(object):
    """What clients can read from the application."""

    # Resources of the application's own

    def register(self, scheme, resources=(), templates=()):
        """Offers resources with URIs of this scheme; on_read is asked for their contents."""
        resources, templates = list(resources), list(templates)
        with self._lock:
            if scheme not in self._producers and len(self._producers) >= MAX_SCHEMES:
                self._fail("producer", "more than %d schemes are registered" % MAX_SCHEMES)
                return
            self._producers[scheme] = (self._bounded(scheme, resources), templates)
            self._producer_news[scheme] = "register"
        self._wake()

    def unregister(self, scheme):
        with self._lock:
            if self._producers.pop(scheme, None) is not None:
                self._producer_news[scheme] = "unregister"
                gone = [each for each, news in self._producer_news.items() if news == "unregister"]
                for each in gone[:-MAX_GONE]:  # its place on the server ends by itself
                    del self._producer_news[each]
        self._wake()

    def list_changed(self, scheme, resources=None):
        """There are others now: these, or when none are given those that on_list will tell."""
        with self._lock:
            if scheme not in self._producers:
                return
            if resources is not None:
                templates = self._producers[scheme][1]
                self._producers[scheme] = (self._bounded(scheme, list(resources)), templates)
            if self._producer_news.get(scheme) != "register":
                self._producer_news[scheme] = "ask" if resources is None else "list"
        self._wake()

    def updated(self, uri):
        """Tells those who subscribed to this URI."""
        with self._lock:
            self._updated[uri] = True
            if len(self._updated) > MAX_UPDATED:
                self._updated.popitem(last=False)
                self._fail("producer", "more changes of resources than the server took")
        self._wake()

    def _bounded(self, scheme, resources):
        if len(resources) > MAX_RESOURCES:
            self._fail("producer", "only %d of the %d resources of %s are listed"
                       % (MAX_RESOURCES, len(resources), scheme))
        return resources[:MAX_RESOURCES]

    # Pictures

    def provide_capture(self, callback, targets=("window",), shots=False):
        """Offers pictures of the application, which readers of capture://current_window get.

        callback(target, max_width, max_bytes) -> the bytes of a PNG file, or a Picture; called
        from pump() with one of the targets ("window", "viewport"). It may raise NoPicture or
        Busy. A picture that is wider or larger is refused. callback None: withdraws the offer.

        shots True: the scene is also drawn from where a reader says. The callback is then called
        with a fourth argument, None or a dict: {"camera": id}, {"of": [ids], "from": "front"} (or
        "right", "top", "three-quarter"), or {"view": the view of an earlier Picture}."""
        targets = list(targets) if callback is not None else []
        if any(target not in PICTURE_TARGETS for target in targets):
            raise ValueError("targets are window and viewport")
        with self._lock:
            self._on_capture = callback
        self._offer_pictures(dict({"targets": targets}, **({"shots": True} if shots else {})))

    def deny_capture(self):
        """The user of the application wants no picture of it: the server takes none in any way,
        until the next provide_capture()."""
        with self._lock:
            self._on_capture = None
        self._offer_pictures({"targets": [], "denied": True})

    @property
    def pictured_at(self):
        """time.time() of the last picture that a client was given, by whichever way it was taken;
        None before the first."""
        return self._pictured_at

    def _offer_pictures(self, offer):
        with self._lock:
            if offer == self._pictures:
                return
            self._pictures = offer
            self._app_news = True
        self._wake()

    # Artefacts

    def put_artefact(self, data=None, path=None, mime=None, display_name=None, session_id=None,
                     tool_call_id=None, job_id=None, correlation_id=None, metadata=None,
                     expires_at=None, on_done=None):
        """Sends bytes, or a file as it is when its turn comes; on_done(upload) from pump()."""
        members = omit_none(
            mime=mime or "application/octet-stream",
            display_name=one_line(display_name or (os.path.basename(path) if path else None)),
            session_id=one_line(session_id), tool_call_id=one_line(tool_call_id),
            job_id=one_line(job_id),
            correlation_id=one_line(correlation_id), expires_at=rfc3339(expires_at))
        if metadata is not None:
            members["metadata"] = json.loads(record_json(metadata))
        upload = Upload(None if data is None else bytes(data), path, members, on_done)
        with self._lock:
            if (data is None) == (path is None):
                self._finish(upload, error="give either data or path")
            elif len(self._uploads) >= MAX_UPLOADS:
                self._finish(upload, error="%d artefacts are waiting already" % MAX_UPLOADS)
            else:
                self._uploads.append(upload)
        self._wake()
        return upload
