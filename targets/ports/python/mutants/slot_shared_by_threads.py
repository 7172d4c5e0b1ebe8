#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All threads have one slot."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import hmac_area  # noqa: E402
import shim  # noqa: E402

shared = hmac_area.Reused()
slot = hmac_area.slot
hmac_area.slot = lambda words: shared if words["mode"] == "reused" else slot(words)

sys.exit(shim.main())
