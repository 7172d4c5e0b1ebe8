// SPDX-License-Identifier: Apache-2.0
// tls.js: calls of the TLS area. Not there, as the documentation of node:tls has none: the time that certificates are
// checked at, KeyUpdate, an alert of the caller's choice, a client's certificate that comes later, what alert was sent.
'use strict';

const tls = require('node:tls');
const { Connection, identity } = require('./connection');

// Node has the IANA names, and not their numbers.
const SUITES = {
  TLS_AES_128_GCM_SHA256: 0x1301, TLS_AES_256_GCM_SHA384: 0x1302, TLS_CHACHA20_POLY1305_SHA256: 0x1303,
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 0xc02b, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 0xc02c,
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 0xcca9, TLS_ECDHE_PSK_WITH_CHACHA20_POLY1305_SHA256: 0xccac,
  TLS_ECDHE_PSK_WITH_AES_128_CBC_SHA256: 0xc037, TLS_ECDHE_PSK_WITH_AES_256_CBC_SHA384: 0xc038,
  TLS_ECDHE_PSK_WITH_AES_128_CBC_SHA: 0xc035, TLS_ECDHE_PSK_WITH_AES_256_CBC_SHA: 0xc036,
  TLS_PSK_WITH_AES_128_GCM_SHA256: 0x00a8, TLS_PSK_WITH_AES_256_GCM_SHA384: 0x00a9,
};

const connections = new Map();

function open(call) {
  if (call.text('late-identity') === 'yes' && call.text('role') === 'client') {
    return { status: 'unsupported' };
  }
  connections.set(call.text('id'), new Connection(call));
  return { status: 'ok' };
}

// on: a call of an open connection. live: of one that has not failed; a failure is final.
const on = (made) => (call) => made(connections.get(call.text('id')), call);
const live = (made) => on((connection, call) => (connection.failure ? { status: 'protocol' } : made(connection, call)));

const handshake = live((connection, call) => {
  const input = call.bytes('input');
  connection.push(input);
  return connection.quiet(() => ({ consumed: input.length }));
});

const setIdentity = live((connection, call) => {
  connection.certify(null, tls.createSecureContext({ ca: connection.ca, ...identity(call) }));
  connection.certify = null;
  return { status: 'ok' };
});

const encrypt = live((connection, call) => {
  if (!connection.writable()) {
    return { status: 'bad-state' };
  }
  const plain = call.bytes('plain');
  if (plain.length > 0) {
    connection.socket.write(plain, () => connection.happened());
  }
  return connection.quiet();
});

const decrypt = live(async (connection, call) => {
  connection.push(call.bytes('input'));
  const { status, token } = await connection.quiet();
  const plain = Buffer.concat(connection.plain.splice(0));
  if (status !== 'ok' || connection.ended) {
    return { status: status !== 'ok' ? status : 'closed', plain, token };
  }
  // What a TLS 1.2 connection says because of what it read, and goes on, is a handshake that the peer asked for.
  const again = token.length > 0 && connection.socket.getProtocol() === 'TLSv1.2';
  connection.established = !again;
  return { status: again ? 'renegotiate' : 'need-input', plain, token };
});

const renegotiate = live((connection) => {
  if (!connection.writable()) {
    return { status: 'bad-state' };
  }
  if (connection.socket.getProtocol() === 'TLSv1.3') {
    return { status: 'unsupported' };
  }
  connection.socket.renegotiate({}, (error) => connection.happened(connection.failure ??= error));
  connection.established = false;
  return connection.quiet(() => (connection.failure ? {} : { status: 'ok' }));
});

const shutdown = live((connection) => {
  if (!connection.established) {
    return { status: 'bad-state' };
  }
  connection.socket.end();
  return connection.quiet();
});

const exportTicket = live((connection) => {
  return connection.ticket ? { status: 'ok', ticket: connection.ticket } : { status: 'bad-state' };
});

const info = on(({ socket, established, failure }) => {
  const alert = /SSL alert number (\d+)/.exec(failure?.message)?.[1];
  const heard = alert && { 'alert-received': alert };
  if (!established || !socket.getProtocol()) {
    return heard ? { status: 'ok', ...heard } : { status: 'bad-state' };
  }
  return {
    status: 'ok',
    version: socket.getProtocol().slice('TLSv'.length),
    'cipher-suite': SUITES[socket.getCipher().standardName] ?? 0,
    resumed: socket.isSessionReused() ? 'yes' : 'no',
    alpn: Buffer.from(socket.alpnProtocol || ''),
    'peer-certificate': socket.getPeerX509Certificate()?.raw ?? Buffer.alloc(0),
    ...heard,
  };
});

const close = on((connection, call) => {
  connections.delete(call.text('id'));
  connection.close();
  return { status: 'ok' };
});

module.exports = {
  areas: ['tls'],
  calls: {
    'tls.open': open, 'tls.handshake': handshake, 'tls.set-identity': setIdentity, 'tls.encrypt': encrypt,
    'tls.decrypt': decrypt, 'tls.renegotiate': renegotiate, 'tls.shutdown': shutdown,
    'tls.export-ticket': exportTicket, 'tls.info': info, 'tls.close': close,
  },
  reset() {
    connections.forEach((connection) => connection.close());
    connections.clear();
  },
};
