// SPDX-License-Identifier: Apache-2.0
// send.js: lists over net.Socket: a write() for each segment, one of all bytes, or what was written while the socket
// was corked, which libuv gathers into a writev(). Not there: sendfile, a socket's send buffer (only dgram has
// setSendBufferSize), blocking sockets, and how much of a write was taken before it failed.
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const { once } = require('node:events');

const sockets = new Map();
const STATUSES = { ECONNRESET: 'reset', EPIPE: 'broken-pipe' };

async function open(call) {
  const socket = net.connect({ host: '127.0.0.1', port: Number(call.text('port')) });
  await once(socket, 'connect');
  socket.on('error', (error) => { socket.failure = error; });
  sockets.set(call.text('id'), socket);
  return { status: 'ok', sndbuf: 0 };
}

// write: ends when the kernel has taken all of it, or with the error.
function write(socket, bytes) {
  return new Promise((resolve) => {
    socket.write(bytes, resolve);
  });
}

// File: a region of a file; read() gives its bytes piece by piece, as far as there are some.
class File {
  constructor(text) {
    const [, offset, len, path] = /^(\d+):(\d+):(.*)$/.exec(text).map((word, i) => (i === 3 ? word : Number(word)));
    this.path = path;
    this.start = offset;
    this.end = len > 0 ? offset + len : Infinity;
    this.due = len;
    this.truncated = false;
  }

  async* read() {
    let seen = 0;
    for await (const chunk of fs.createReadStream(this.path, { start: this.start, end: this.end - 1 })) {
      seen += chunk.length;
      yield chunk;
    }
    this.truncated = seen < this.due;
  }
}

// pieces: the list's bytes, a segment or a file's chunk at a time, up to where a file is too short.
async function* pieces(list) {
  for (const item of list) {
    if (Buffer.isBuffer(item)) {
      yield item;
      continue;
    }
    yield* item.read();
    if (item.truncated) {
      return;
    }
  }
}

const firstError = async (written) => (await Promise.all(written)).find((error) => error);

// ways: each ends when all was taken, or with an error.
const ways = {
  async sequential(socket, list) {
    for await (const piece of pieces(list)) {
      const error = await write(socket, piece);
      if (error) {
        return error;
      }
    }
    return null;
  },

  copied: (socket, list) => write(socket, Buffer.concat(list)),

  gathered(socket, list) {
    socket.cork();
    const written = list.map((segment) => write(socket, segment));
    socket.uncork();
    return firstError(written);
  },

  // The runtime's choice: while a write waits for the kernel, those after it are gathered.
  async auto(socket, list) {
    const written = [];
    for await (const piece of pieces(list)) {
      written.push(write(socket, piece));
    }
    return firstError(written);
  },
};

async function send(call) {
  const socket = sockets.get(call.text('id'));
  const list = call.words.filter(([key]) => key === 'bytes' || key === 'file')
    .map(([key, value]) => (key === 'file' ? new File(value) : Buffer.from(value, 'hex')));
  const before = socket.bytesWritten;
  const error = await ways[call.text('way')](socket, list);
  if (error) { // writes to a socket that failed before fail for that; the first failure tells why
    return { status: STATUSES[(socket.failure ?? error).code] ?? 'system' };
  }
  const truncated = list.some((item) => item.truncated);
  return { status: truncated ? 'truncated' : 'ok', sent: socket.bytesWritten - before };
}

async function close(call) {
  const socket = sockets.get(call.text('id'));
  sockets.delete(call.text('id'));
  if (!socket.destroyed) {
    socket.end();
    await Promise.race([once(socket, 'finish'), once(socket, 'close')]).catch(() => {});
  }
  socket.destroy();
  return { status: 'ok' };
}

function reset() {
  sockets.forEach((socket) => socket.destroy());
  sockets.clear();
}

module.exports = {
  areas: ['send.sequential', 'send.copied', 'send.gathered', 'send.auto'],
  calls: { 'send.open': open, 'send.list': send, 'send.close': close },
  reset,
};
