#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A message that starts under the key of an open one goes on with it."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import hmac_area  # noqa: E402
import shim  # noqa: E402


class Reused(hmac_area.Reused):
    def start(self, alg, key):
        if self.message is None or not self.is_for(alg, key):
            super().start(alg, key)


hmac_area.Reused = Reused

sys.exit(shim.main())
