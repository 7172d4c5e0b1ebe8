#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keys are told apart by their first bytes."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import hmac_area  # noqa: E402
import shim  # noqa: E402

hmac_area.Reused.is_for = lambda self, alg, key: self.alg == alg and self.key[:8] == key[:8]

sys.exit(shim.main())
