#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plaintext of more than a record is cut to one."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import shim  # noqa: E402
import tls_area  # noqa: E402

right = tls_area.Connection.encrypt


def encrypt(self, plain):
    return right(self, plain[:16384])


tls_area.Connection.encrypt = encrypt
sys.exit(shim.main())
