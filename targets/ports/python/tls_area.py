# SPDX-License-Identifier: Apache-2.0
"""tls for shim.py: ssl.SSLObject over two ssl.MemoryBIO.

What ssl has not is `unsupported`: an external PSK (which came with Python 3.13), a client's identity that comes later,
new keys, renegotiation and alerts of the caller's choice. It does not say which alert it sent. A session cannot be made
bytes: it stays here, and its ticket is its number. Contexts are kept, as sessions and ticket keys are theirs.
"""
import ssl
import tempfile

VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
AREAS = ["tls"]
contexts = {}  # by all that a context is told but the versions
connections = {}
sessions = []  # with the context that each is of


def pem(kind, der):
    """One PEM block for each of the DER structures that stand one after the other."""
    text = ""
    while der:
        long = der[1] & 0x7F if der[1] & 0x80 else 0  # X.690 8.1.3: so many bytes of length
        end = 2 + long + (int.from_bytes(der[2:2 + long], "big") if long else der[1])
        block = ssl.DER_cert_to_PEM_cert(der[:end])
        text += block.replace("CERTIFICATE", kind)
        der = der[end:]
    return text


def make_context(role, chain, key, trusted, require_peer, alpn, named):
    client = role == "client"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT if client else ssl.PROTOCOL_TLS_SERVER)
    verifies = trusted and (client or require_peer)
    context.check_hostname = bool(client and verifies and named)
    context.verify_mode = ssl.CERT_REQUIRED if verifies else ssl.CERT_NONE
    if trusted:
        context.load_verify_locations(cadata=bytes.fromhex(trusted))
    if chain:
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(pem("PRIVATE KEY", bytes.fromhex(key)) + pem("CERTIFICATE", bytes.fromhex(chain)))
            file.flush()
            context.load_cert_chain(file.name)
    if alpn:
        wire, names = bytes.fromhex(alpn), []
        while wire:
            names.append(wire[1:1 + wire[0]].decode())
            wire = wire[1 + wire[0]:]
        context.set_alpn_protocols(names)
    return context


class Connection:
    """One end. `final` is the status that ended it."""

    def __init__(self, words):
        self.words = words
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.finished = self.shut = False
        self.final = self.tls = self.alert_received = None
        if words.get("late-identity") != "yes":  # for which a server waits before it looks at anything
            self.start()

    def start(self):
        words = self.words
        key = tuple(words.get(name, "") for name in ("role", "chain", "private-key", "trusted", "require-peer", "alpn"))
        key += (bool(words.get("server-name")),)
        if key not in contexts:
            contexts[key] = make_context(*key)
        context = contexts[key]
        context.minimum_version = ssl.TLSVersion.TLSv1_2  # never above the maximum, which may be another's
        context.maximum_version = VERSIONS[words["version-max"]]
        context.minimum_version = VERSIONS[words["version-min"]]
        client = words["role"] == "client"
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=not client,
                                    server_hostname=words.get("server-name") if client else None)
        if "ticket" in words:
            session, its_context = sessions[int(words["ticket"], 16)]
            if its_context is context:  # ssl refuses any other
                self.tls.session = session

    def take(self):
        """What is to be sent now."""
        return self.outgoing.read()

    def fail(self, error):
        """The alert that came, if one did, is in the reason: TLSV1_ALERT_UNKNOWN_CA."""
        self.final = "protocol"
        name = (error.reason or "").partition("_ALERT_")[2]
        self.alert_received = getattr(ssl.AlertDescription, "ALERT_DESCRIPTION_" + name, None)
        return self.final

    def handshake(self, data):
        self.incoming.write(data)
        if self.tls is None:
            return "need-credentials" if data else "need-input"
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            return "need-input"
        except ssl.SSLError as error:
            return self.fail(error)
        self.finished = True
        return "ok"

    def encrypt(self, plain):
        if not self.finished or self.shut:
            return "bad-state"
        try:
            if plain:
                self.tls.write(plain)
        except ssl.SSLWantReadError:  # in the middle of a handshake
            return "bad-state"
        except ssl.SSLError as error:
            return self.fail(error)
        return "ok"

    def read_some(self, plain):
        part = self.tls.read(16384)
        plain += part
        return bool(part)

    def decrypt(self, data, plain):
        if not self.finished:
            return "bad-state"
        self.incoming.write(data)
        try:
            while self.read_some(plain):
                pass
            return "closed"
        except ssl.SSLWantReadError:
            return self.wait()
        except ssl.SSLZeroReturnError:  # and we had said so before
            return "closed"
        except ssl.SSLError as error:
            return self.fail(error)

    def wait(self):
        """All was read. A peer's KeyUpdate is answered in front of what is written next: nothing, which SSL_write_ex(3)
        allows. There is no version while a handshake is under way: the peer's began while data was read."""
        if self.tls.version() is None:
            return "renegotiate"
        if not self.shut and self.tls.version() == "TLSv1.3":
            self.tls.write(b"")
        return "need-input"

    def shutdown(self):
        if not self.finished:
            return "bad-state"
        try:
            if not self.shut:
                self.tls.unwrap()
        except ssl.SSLWantReadError:  # the peer has not closed yet, and need not
            pass
        except ssl.SSLError as error:
            return self.fail(error)
        self.shut = True
        return "ok"

    def describe(self):
        words = "" if self.alert_received is None else f" alert-received={int(self.alert_received)}"
        if self.finished and self.tls.version() is not None:
            name = self.tls.cipher()[0]
            suite = next(row["id"] & 0xFFFF for row in self.tls.context.get_ciphers() if row["name"] == name)
            words += (f" version={self.tls.version().removeprefix('TLSv')} cipher-suite={suite}"
                      f" resumed={'yes' if self.tls.session_reused else 'no'}"
                      f" alpn={(self.tls.selected_alpn_protocol() or '').encode().hex()}"
                      f" peer-certificate={(self.tls.getpeercert(True) or b'').hex()}")
        return words


def open_connection(words, _):
    if "psk-key" in words or (words["role"] == "client" and words.get("late-identity") == "yes"):
        return "unsupported"
    connections[words["id"]] = Connection(words)
    return "ok"


def close(words, _):
    del connections[words["id"]]
    return "ok"


def handshake(words, _):
    one, data = connections[words["id"]], bytes.fromhex(words["input"])
    status = one.final or one.handshake(data)
    return f"{status} consumed={len(data)} token={one.take().hex()}"


def set_identity(words, _):
    one = connections[words["id"]]
    if one.tls is not None:
        return one.final or "bad-state"
    one.words = {**one.words, "chain": words["chain"], "private-key": words["private-key"]}
    one.start()
    return "ok"


def encrypt(words, _):
    one = connections[words["id"]]
    status = one.final or one.encrypt(bytes.fromhex(words["plain"]))
    return f"{status} token={one.take().hex()}"


def decrypt(words, _):
    one, plain = connections[words["id"]], bytearray()
    status = one.final or one.decrypt(bytes.fromhex(words["input"]), plain)
    return f"{status} plain={plain.hex()} token={one.take().hex()}"


def shutdown(words, _):
    one = connections[words["id"]]
    status = one.final or one.shutdown()
    return f"{status} token={one.take().hex()}"


def export_ticket(words, _):
    one = connections[words["id"]]
    session = one.tls.session if one.finished else None
    if one.final or session is None or not session.has_ticket:
        return one.final or "bad-state"
    sessions.append((session, one.tls.context))
    return f"ok ticket={len(sessions) - 1:04x}"


def info(words, _):
    return "ok" + connections[words["id"]].describe()


CALLS = {"tls.open": open_connection, "tls.close": close, "tls.handshake": handshake, "tls.set-identity": set_identity,
         "tls.encrypt": encrypt, "tls.decrypt": decrypt, "tls.shutdown": shutdown, "tls.info": info,
         "tls.export-ticket": export_ticket}


def reset():
    for kept in (contexts, connections, sessions):
        kept.clear()
