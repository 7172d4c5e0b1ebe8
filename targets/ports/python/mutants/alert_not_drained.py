#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What was written before a call failed, the alert, is not taken."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import shim  # noqa: E402
import tls_area  # noqa: E402

right = tls_area.Connection.fail


def fail(self, error):
    self.outgoing.read()
    return right(self, error)


tls_area.Connection.fail = fail
sys.exit(shim.main())
