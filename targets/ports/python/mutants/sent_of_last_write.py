#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What was sent is said to be what the last write took."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import send_area  # noqa: E402
import shim  # noqa: E402

send_pieces, send_list = send_area.send_pieces, send_area.send_list
last = 0


def remember(out, pieces):
    global last
    for last in send_pieces(out, pieces):
        yield last


def misreport(call, words):
    return re.sub("sent=.*", f"sent={last}", send_list(call, words))


send_area.send_pieces = remember
send_area.CALLS["send.list"] = misreport
sys.exit(shim.main())
