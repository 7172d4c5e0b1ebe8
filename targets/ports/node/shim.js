// SPDX-License-Identifier: Apache-2.0
// shim.js: a shim (../PROTOCOL.md) over Node's own modules: requests in, answers out, one call after another. What is
// called is in a module for each area, which says what is not there.
'use strict';

const MODULES = [require('./crypt'), require('./send'), require('./tls')];
const calls = new Map(MODULES.flatMap((module) => Object.entries(module.calls)));

// Call: a line in its words. A key may come more than once; the order counts.
class Call {
  constructor(line) {
    const [name, ...words] = line.split(' ');
    this.name = name;
    this.words = words.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]);
  }

  text(key) {
    return this.words.find((word) => word[0] === key)?.[1];
  }

  bytes(key) {
    return Buffer.from(this.text(key) ?? '', 'hex');
  }

  all(key) {
    return this.words.filter((word) => word[0] === key).map((word) => Buffer.from(word[1], 'hex'));
  }
}

// answer: what an area returns is a status and its words; bytes become hex. An exception is the engine's failure.
async function answer(line) {
  const call = new Call(line);
  if (!calls.has(call.name)) {
    return 'unsupported\n';
  }
  try {
    const given = calls.get(call.name)(call);
    const { status, ...words } = given instanceof Promise ? await given : given;
    const text = Object.entries(words)
      .map(([key, value]) => ` ${key}=${Buffer.isBuffer(value) ? value.toString('hex') : value}`);
    return `${status}${text.join('')}\n`;
  } catch (error) {
    console.error(String(error));
    return 'engine\n';
  }
}

async function* linesOf(stream) {
  let rest = '';
  for await (const chunk of stream.setEncoding('latin1')) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    yield* lines;
  }
}

async function main() {
  let due = 0;
  let answers = '';
  for await (const line of linesOf(process.stdin)) {
    if (due > 0) {
      answers += await answer(line);
      if (--due === 0) {
        process.stdout.write(answers);
        answers = '';
      }
    } else if (line === 'paldiff 1') {
      const areas = MODULES.flatMap((module) => module.areas);
      const version = `${process.versions.node},_OpenSSL_${process.versions.openssl}`;
      process.stdout.write(`shim 1 name=node version=${version} areas=${areas}\n`);
    } else if (line === 'scenario') {
      MODULES.forEach((module) => module.reset());
    } else {
      due = Number(line.split(' ')[1]);
    }
  }
  MODULES.forEach((module) => module.reset());
}

main();
