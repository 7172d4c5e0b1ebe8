#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A connection that failed is asked again, and waits."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import shim  # noqa: E402
import tls_area  # noqa: E402

right = tls_area.Connection.fail


def fail(self, error):
    status = right(self, error)
    self.final = None
    return status


tls_area.Connection.fail = fail
sys.exit(shim.main())
