#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No more input is taken for the end of the stream."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import shim  # noqa: E402
import tls_area  # noqa: E402

right = tls_area.Connection.wait


def wait(self):
    status = right(self)
    return "closed" if status == "need-input" and self.incoming.pending == 0 else status


tls_area.Connection.wait = wait
sys.exit(shim.main())
