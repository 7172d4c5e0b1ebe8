#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""After a short write a segment is sent again from its start."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import send_area  # noqa: E402
import shim  # noqa: E402

once = set()


def advance(pieces, taken):
    while pieces and taken >= len(pieces[0]):
        taken -= len(pieces[0])
        pieces = pieces[1:]
    whole = pieces and id(pieces[0].obj) not in once
    if whole:
        once.add(id(pieces[0].obj))
    return [pieces[0] if whole else pieces[0][taken:], *pieces[1:]] if pieces else []


send_area.advance = advance
sys.exit(shim.main())
