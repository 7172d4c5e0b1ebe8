#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hostile.py WAY [FILE]: a shim that is good up to a call, and then does to the suite what a process can do to it."""
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import hmac_area  # noqa: E402
import shim  # noqa: E402

CALL = 3
good_answer = shim.answer
calls_made = 0


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def leave():
    os._exit(0)


def hang():
    time.sleep(3600)


def eat():
    eaten = bytearray(b"x") * (600 << 20)
    time.sleep(len(eaten))


def drone():
    while True:
        sys.stdout.write("ok " * 4096)


# What is said instead of an answer.
WORDS = {
    "garbage": "segmentation fault, core dumped\n",
    "half-a-byte": "ok out=0\n",
    "no-key": "ok 00ff\n",
    "number-as-status": "0 out=00\n",
    "nothing": "\n",
    "no-answer": "",
    "answer-twice": "ok\nok\n",
}
DEEDS = {"crash": crash, "exit": leave, "hang": hang, "eat": eat, "drone": drone}
# What is said instead of a greeting.
GREETINGS = {
    "version": "shim 2 name=python version=1 areas=hmac.reused\n",
    "unknown-area": "shim 1 name=python version=1 areas=hmac.reused,hmac.cached\n",
    "no-areas": "shim 1 name=python version=1\n",
    "no-shim": "Python 3.11 on linux\n",
    "mute": "",
}


def misbehave(calls, line):
    global calls_made
    calls_made += 1
    if way == "otherwise-again":  # seals to other bytes each time
        return f"ok out={os.urandom(32).hex()}\n"
    if calls_made != CALL or way == "starts-once":
        return good_answer(calls, line)
    if way in DEEDS:
        DEEDS[way]()
    return WORDS[way]


way = sys.argv[1]
shim.MODULES = [hmac_area]
if way == "starts-once":
    open(sys.argv[2], "x")
if way in GREETINGS:
    sys.stdout.write(GREETINGS[way])
    sys.stdout.flush()
    sys.exit(sys.stdin.read() and 0)
if way == "otherwise-again":
    hmac_area.AREAS = ["aead.fresh", "aead.reused"]
shim.answer = misbehave
sys.exit(shim.main())
