#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A shim (../PROTOCOL.md) over Python's standard library: the loop. What is called is in a module for each area.

There is no aead: the standard library has no cipher (its chapter "Cryptographic Services" is hashlib, hmac, secrets).

A module of an area has AREAS (its words of the greeting), CALLS (a function for each name of a call: it is given the
words as a dictionary and as pairs in order, and returns the answer) and reset() (a new scenario).
"""
import itertools
import ssl
import sys
import traceback

import hmac_area
import send_area
import tls_area

MODULES = [hmac_area, send_area, tls_area]


def answer(calls, line):
    """The answer to one call. What a call raises is the engine's failure; stderr has it whole."""
    name, *words = line.split()
    if name not in calls:
        return "unsupported\n"
    pairs = [word.split("=", 1) for word in words]
    try:
        return calls[name](dict(pairs), pairs) + "\n"
    except Exception:
        traceback.print_exc()
        return "engine\n"


def main(requests=sys.stdin, answers=sys.stdout):
    if requests.readline() != "paldiff 1\n":
        return "this is a shim of the process door's protocol 1"
    calls = {name: call for module in MODULES for name, call in module.CALLS.items()}
    areas = ",".join(area for module in MODULES for area in module.AREAS)
    version = f"{sys.version.split()[0]}, {ssl.OPENSSL_VERSION}".replace(" ", "_")
    answers.write(f"shim 1 name=python version={version} areas={areas}\n")
    answers.flush()
    while line := requests.readline():
        if line == "scenario\n":
            for module in MODULES:
                module.reset()
        else:
            num = int(line.removeprefix("calls "))
            answers.write("".join([answer(calls, call) for call in itertools.islice(requests, num)]))
            answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
