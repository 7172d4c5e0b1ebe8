# SPDX-License-Identifier: Apache-2.0
"""send for shim.py: socket.sendmsg, os.sendfile, and for auto what the library does by itself: socket.sendfile."""
import os
import select
import socket

AREAS = ["send.sequential", "send.copied", "send.gathered", "send.packets", "send.auto"]
IOV_MAX = os.sysconf("SC_IOV_MAX")

sockets = {}


class Region:
    """A region of a file; length 0 in a word is its end."""

    def __init__(self, word):
        offset, length, path = word.split(":", 2)
        self.file = open(path, "rb", buffering=0)
        self.offset = int(offset)
        self.left = int(length) or max(os.fstat(self.file.fileno()).st_size - self.offset, 0)


def patiently(out, write):
    """One write, when a socket that does not block lets it."""
    while True:
        try:
            return write()
        except BlockingIOError:
            select.select([], [out], [])


def advance(pieces, taken):
    """What is left of the pieces when a write took so many bytes of them."""
    while pieces and taken >= len(pieces[0]):
        taken -= len(pieces[0])
        pieces = pieces[1:]
    return [pieces[0][taken:], *pieces[1:]] if pieces else []


def send_pieces(out, pieces):
    """Yields what each write took."""
    while pieces:
        taken = patiently(out, lambda: out.sendmsg(pieces[:IOV_MAX]))
        yield taken
        pieces = advance(pieces, taken)


def send_region(out, region):
    """Yields what each write took; `left` stays above 0 when the file is too short."""
    taken = 1
    while region.left and taken:
        taken = patiently(out, lambda: os.sendfile(out.fileno(), region.file.fileno(), region.offset, region.left))
        yield taken
        region.offset += taken
        region.left -= taken


def send_region_whole(out, region):
    """send_region, by the library, which takes sockets that block; the file's position says how far it came."""
    try:
        out.sendfile(region.file, region.offset, region.left)
    finally:
        taken = max(region.file.tell() - region.offset, 0)
        region.left -= taken
        yield taken


def runs(way, parts):
    """The parts as a way puts them together: regions, and lists of pieces."""
    if way == "sequential":
        return [part if isinstance(part, Region) else [part] for part in parts]
    if way == "copied":
        return [[memoryview(b"".join(parts))]]
    made = []
    for part in parts:
        if isinstance(part, Region):
            made.append(part)
        elif made and isinstance(made[-1], list):
            made[-1].append(part)
        else:
            made.append([part])
    return made


def writes(out, way, run):
    if not isinstance(run, Region):
        return send_pieces(out, run)
    whole = way == "auto" and out.gettimeout() is None and run.left
    return send_region_whole(out, run) if whole else send_region(out, run)


# ---- calls -----------------------------------------------------------------------------------------------------------


def send_open(call, _):
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, int(call["sndbuf"]))
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.connect(("127.0.0.1", int(call["port"])))
    sockets[call["id"]] = made
    return "ok"


def send_list(call, words):
    out, way, sent = sockets[call["id"]], call["way"], 0
    out.setblocking(call["blocking"] == "yes")
    parts = [memoryview(bytes.fromhex(value)) if key == "bytes" else Region(value)
             for key, value in words if key in ("bytes", "file")]
    try:
        for run in runs(way, parts):
            for taken in writes(out, way, run):
                sent += taken
            if isinstance(run, Region) and run.left:
                return f"truncated sent={sent}"
        return f"ok sent={sent}"
    except ConnectionResetError:
        return f"reset sent={sent}"
    except BrokenPipeError:
        return f"broken-pipe sent={sent}"
    finally:
        for part in parts:
            if isinstance(part, Region):
                part.file.close()


def send_close(call, _):
    sockets.pop(call["id"]).close()
    return "ok"


CALLS = {"send.open": send_open, "send.list": send_list, "send.close": send_close}


def reset():
    while sockets:
        sockets.popitem()[1].close()
