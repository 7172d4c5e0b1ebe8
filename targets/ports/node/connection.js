// SPDX-License-Identifier: Apache-2.0
// connection.js: a TLSSocket over a Duplex whose other side is moved by hand.
'use strict';

const crypto = require('node:crypto');
const tls = require('node:tls');
const { Duplex } = require('node:stream');
const { setImmediate: turn } = require('node:timers/promises');

// All that a connection does happens on this loop, no thread and no timer is waited for: input is decrypted while it is
// pushed, and what follows from that (an event, the end of a write, the next piece of output) comes at most one turn
// later. It is quiet when turns passed in which nothing came. One would do; the others are for what is put off twice.
const QUIET_TURNS = 3;

const PSK_CIPHERS = 'TLS_AES_128_GCM_SHA256:ECDHE-PSK-CHACHA20-POLY1305:PSK-AES128-GCM-SHA256:PSK-AES256-GCM-SHA384';

const ticketKeys = crypto.randomBytes(48); // shared by all servers, as in a cluster

// pems: of DER certificates, one after another.
function pems(der) {
  const out = [];
  for (let at = 0; at < der.length;) {
    const short = der[at + 1] < 0x80;
    const size = short ? 2 : 2 + (der[at + 1] & 0x7f);
    const end = at + size + (short ? der[at + 1] : der.readUIntBE(at + 2, size - 2));
    out.push(new crypto.X509Certificate(der.subarray(at, end)).toString());
    at = end;
  }
  return out;
}

// names: of the wire format of ALPN.
function names(wire) {
  const out = [];
  for (let at = 0; at < wire.length; at += 1 + wire[at]) {
    out.push(wire.toString('latin1', at + 1, at + 1 + wire[at]));
  }
  return out;
}

function identity(call) {
  const key = call.bytes('private-key');
  return key.length > 0 && {
    cert: pems(call.bytes('chain')).join(''),
    key: crypto.createPrivateKey({ key, format: 'der', type: 'pkcs8' }).export({ format: 'pem', type: 'pkcs8' }),
  };
}

// Connection: what came of the engine is kept here until a call takes it.
class Connection {
  constructor(call) {
    this.socket = null; // of the application's side; a server's comes with its handshake
    this.moved = 0;     // so many things happened
    this.token = [];
    this.plain = [];
    this.ticket = null;
    this.established = false;
    this.ended = false;
    this.failure = null;
    this.certify = null; // the handshake waits for an identity
    this.ca = call.text('trusted') && pems(call.bytes('trusted'));
    this.wire = new Duplex({
      read() {},
      write: (bytes, encoding, done) => {
        this.happened(this.token.push(bytes));
        done();
      },
    });
    this.wire.on('error', () => {});
    call.text('role') === 'client' ? this.connect(call) : this.serve(call);
  }

  happened() {
    this.moved++;
  }

  common(call) {
    const psk = { psk: call.bytes('psk-key'), identity: call.bytes('psk-identity').toString('latin1') };
    return {
      minVersion: `TLSv${call.text('version-min')}`,
      maxVersion: `TLSv${call.text('version-max')}`,
      rejectUnauthorized: this.ca !== undefined,
      ...(this.ca && { ca: this.ca }),
      ...(psk.psk.length > 0 && {
        ciphers: PSK_CIPHERS,
        pskCallback: call.text('role') === 'client' ? () => psk :
          (socket, name) => (name === psk.identity ? psk.psk : null),
      }),
      ...identity(call),
    };
  }

  connect(call) {
    const servername = call.text('server-name');
    const ticket = call.bytes('ticket');
    const alpn = call.bytes('alpn');
    this.socket = tls.connect({
      socket: this.wire,
      servername,
      ...(!servername && { checkServerIdentity: () => undefined }),
      ...(alpn.length > 0 && { ALPNProtocols: alpn }),
      ...(ticket.length > 0 && { session: ticket }),
      ...this.common(call),
    }, () => this.happened(this.established = true));
    this.watch(this.socket);
    this.socket.on('session', (ticket) => this.happened(this.ticket = ticket));
  }

  // A server that has no protocol in common with its client is to fail: before Node 20 it does so by the callback only.
  serve(call) {
    const alpn = names(call.bytes('alpn'));
    const server = tls.createServer({
      ticketKeys,
      sessionIdContext: 'shim',
      requestCert: call.text('require-peer') === 'yes',
      ...(alpn.length > 0 && {
        ALPNCallback: ({ protocols }) => alpn.find((name) => protocols.includes(name)),
      }),
      ...(call.text('late-identity') === 'yes' && {
        SNICallback: (name, done) => this.happened(this.certify = done),
      }),
      ...this.common(call),
    });
    server.on('secureConnection', (socket) => {
      this.established = true;
      this.watch(this.socket = socket);
    });
    server.on('tlsClientError', (error) => this.happened(this.failure ??= error));
    server.emit('connection', this.wire);
  }

  watch(socket) {
    socket.on('secure', () => this.happened(this.established = true)); // a later handshake is done
    socket.on('data', (bytes) => this.happened(this.plain.push(bytes)));
    socket.on('end', () => this.happened(this.ended = true));
    socket.on('error', (error) => this.happened(this.failure ??= error));
    this.happened();
  }

  // quiet: the answer to a call, once nothing more comes of it.
  async quiet(words = () => ({})) {
    for (let idle = 0; idle < QUIET_TURNS;) {
      const before = this.moved;
      await turn();
      idle = this.moved === before ? idle + 1 : 0;
    }
    const token = Buffer.concat(this.token.splice(0));
    return { status: this.status(), ...words(), token };
  }

  status() {
    return this.failure ? 'protocol' : this.certify ? 'need-credentials' : this.established ? 'ok' : 'need-input';
  }

  writable() {
    return this.established && !this.socket.writableEnded;
  }

  push(input) {
    if (input.length > 0 && !this.wire.destroyed) {
      this.wire.push(input);
    }
  }

  close() {
    this.socket?.destroy();
    this.wire.destroy();
  }
}

module.exports = { Connection, identity };
