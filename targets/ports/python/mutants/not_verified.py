#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whoever the peer is, it is believed."""
import pathlib
import ssl
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import shim  # noqa: E402
import tls_area  # noqa: E402

right = tls_area.make_context


def make_context(*words):
    context = right(*words)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


tls_area.make_context = make_context
sys.exit(shim.main())
