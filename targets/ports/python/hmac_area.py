# SPDX-License-Identifier: Apache-2.0
"""hmac for shim.py: a keyed context that each thread keeps and copies for a message, and hmac.digest without a cache.

Threads are real ones, and keys are bytearrays that are written to in place, as a caller would: what depends on a
thread or on where a key is kept depends on it here.
"""
import hmac
from concurrent.futures import ThreadPoolExecutor
from threading import local

AREAS = ["hmac.fresh", "hmac.reused"]


class Fresh:
    """Keeps nothing but the open message."""

    message = None

    def digest(self, alg, key, parts):
        self.message = None
        return hmac.digest(key, b"".join(parts), alg)

    def start(self, alg, key):
        self.message = None
        self.message = hmac.new(key, digestmod=alg)

    def update(self, part):
        self.message.update(part)

    def finish(self):
        message, self.message = self.message, None
        return message.digest()


class Reused(Fresh):
    """Keeps a keyed context, too, with a copy of its key: the caller's may change."""

    alg = key = context = None

    def is_for(self, alg, key):
        return self.alg == alg and hmac.compare_digest(self.key, key)

    def keyed(self, alg, key):
        """A context with nothing but the key in it."""
        if not self.is_for(alg, key):
            self.alg = None
            self.context = hmac.new(key, digestmod=alg)
            self.alg, self.key = alg, bytes(key)
        return self.context.copy()

    def digest(self, alg, key, parts):
        self.message = None
        message = self.keyed(alg, key)
        for part in parts:
            message.update(part)
        return message.digest()

    def start(self, alg, key):
        self.message = None
        self.message = self.keyed(alg, key)


# ---- calls -----------------------------------------------------------------------------------------------------------

slots = local()
threads = {}
keys = {}


def reset():
    global slots
    for thread in threads.values():
        thread.shutdown()
    slots = local()
    threads.clear()
    keys.clear()


def slot(words):
    """The calling thread's in this mode."""
    mode = words["mode"]
    if not hasattr(slots, mode):
        setattr(slots, mode, Reused() if mode == "reused" else Fresh())
    return getattr(slots, mode)


def key_of(words):
    """The key, in the memory that has this name."""
    key = keys.setdefault(words["name"], bytearray())
    key[:] = bytes.fromhex(words["key"])
    return key


def digest(words, pairs):
    parts = [bytes.fromhex(value) for key, value in pairs if key == "part"]
    return "ok out=" + slot(words).digest(words["alg"], key_of(words), parts).hex()


def start(words, pairs):
    slot(words).start(words["alg"], key_of(words))
    return "ok"


def update(words, pairs):
    slot(words).update(bytes.fromhex(words["part"]))
    return "ok"


def finish(words, pairs):
    return "ok out=" + slot(words).finish().hex()


def drop(words, pairs):
    vars(slots).pop(words["mode"], None)
    return "ok"


def on_its_thread(call):
    """The call, made on the thread that it names; 0 is the main thread."""

    def made(words, pairs):
        number = words["thread"]
        if number == "0":
            return call(words, pairs)
        if number not in threads:
            threads[number] = ThreadPoolExecutor(1)
        return threads[number].submit(call, words, pairs).result()

    return made


CALLS = {"hmac." + call.__name__: on_its_thread(call) for call in (digest, start, update, finish, drop)}
