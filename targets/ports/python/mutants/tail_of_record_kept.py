#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reading ends with the first piece: what the engine still has waits for more input."""
import pathlib
import ssl
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import shim  # noqa: E402
import tls_area  # noqa: E402

right = tls_area.Connection.read_some


def read_some(self, plain):
    if right(self, plain):
        raise ssl.SSLWantReadError
    return False


tls_area.Connection.read_some = read_some
sys.exit(shim.main())
