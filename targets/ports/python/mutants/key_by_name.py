#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keys are told apart by the memory that they are in: the cache keeps the caller's own and no copy."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import hmac_area  # noqa: E402
import shim  # noqa: E402


class Reused(hmac_area.Reused):
    def keyed(self, alg, key):
        context = super().keyed(alg, key)
        self.key = key
        return context


hmac_area.Reused = Reused

sys.exit(shim.main())
