// SPDX-License-Identifier: Apache-2.0
// crypt.js: hmac and aead over node:crypto. Hmac, Cipher and Decipher objects serve one message each and can neither be
// reset nor copied; what can be kept is the key, as a KeyObject. Output is always memory of its own: nothing in place.
'use strict';

const crypto = require('node:crypto');

// Slot: what a thread keeps in a mode: the open message, and in mode reused the last key.
class Slot {
  constructor(mode) {
    this.keeps = mode === 'reused';
    this.message = null;
    this.bytes = null;
    this.key = null;
  }

  // keyed: the caller's bytes, or the KeyObject of the same ones; the slot has a copy, as the caller's may change.
  keyed(bytes) {
    if (!this.keeps) {
      return bytes;
    }
    if (this.bytes?.length !== bytes.length || !crypto.timingSafeEqual(this.bytes, bytes)) {
      this.wipe();
      this.key = crypto.createSecretKey(bytes);
      this.bytes = Buffer.from(bytes);
    }
    return this.key;
  }

  wipe() {
    this.bytes?.fill(0);
    this.bytes = this.key = null;
  }
}

const slots = new Map();

function slotOf(call) {
  const name = `${call.name.split('.')[0]} ${call.text('mode')} ${call.text('thread')}`;
  if (!slots.has(name)) {
    slots.set(name, new Slot(call.text('mode')));
  }
  return slots.get(name);
}

function drop(call) {
  const slot = slotOf(call);
  slot.message = null;
  slot.wipe();
  return { status: 'ok' };
}

// ---- hmac

function begun(call) {
  const slot = slotOf(call);
  slot.message = null;
  return crypto.createHmac(call.text('alg'), slot.keyed(call.bytes('key')));
}

function digest(call) {
  const message = begun(call);
  call.all('part').forEach((part) => message.update(part));
  return { status: 'ok', out: message.digest() };
}

function start(call) {
  slotOf(call).message = begun(call);
  return { status: 'ok' };
}

function update(call) {
  slotOf(call).message.update(call.bytes('part'));
  return { status: 'ok' };
}

function finish(call) {
  const slot = slotOf(call);
  const out = slot.message.digest();
  slot.message = null;
  return { status: 'ok', out };
}

// ---- aead

function ready(call, create) {
  const options = { authTagLength: Number(call.text('tag-len')) };
  const cipher = create(call.text('alg'), slotOf(call).keyed(call.bytes('key')), call.bytes('nonce'), options);
  call.all('aad').forEach((part) => cipher.setAAD(part));
  return cipher;
}

function seal(call) {
  const cipher = ready(call, crypto.createCipheriv);
  const sealed = [cipher.update(call.bytes('plain')), cipher.final(), cipher.getAuthTag()];
  return { status: 'ok', out: Buffer.concat(sealed) };
}

function open(call) {
  const decipher = ready(call, crypto.createDecipheriv);
  const sealed = call.bytes('sealed');
  const end = sealed.length - Number(call.text('tag-len'));
  decipher.setAuthTag(sealed.subarray(end));
  const plain = decipher.update(sealed.subarray(0, end));
  try {
    decipher.final();
  } catch { // all that final() can find fault with is the tag
    plain.fill(0);
    return { status: 'bad-tag' };
  }
  return { status: 'ok', out: plain };
}

module.exports = {
  areas: ['hmac.fresh', 'hmac.reused', 'aead.fresh', 'aead.reused'],
  calls: {
    'hmac.digest': digest, 'hmac.start': start, 'hmac.update': update, 'hmac.finish': finish, 'hmac.drop': drop,
    'aead.seal': seal, 'aead.open': open, 'aead.drop': drop,
  },
  reset: () => slots.clear(),
};
