// SPDX-License-Identifier: Apache-2.0
module paldiff.shim

go 1.19
