#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a short write did not take of a segment is dropped."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import send_area  # noqa: E402
import shim  # noqa: E402


def advance(pieces, taken):
    while pieces and (taken > 0 or not pieces[0]):
        taken -= len(pieces[0])
        pieces = pieces[1:]
    return pieces


send_area.advance = advance
sys.exit(shim.main())
