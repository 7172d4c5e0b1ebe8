#!/bin/bash -eu
# Copyright 2026 The paldiff authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
#
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets for OSS-Fuzz, ClusterFuzzLite and `ci/run oss-fuzz` alike, from $SRC/paldiff into $OUT, with the
# flags, sanitizer and fuzz engine that the environment names. It would break if `paldiff list` or a fuzz_<target> were
# renamed. Only $OUT and $WORK are written to, apart from the engines' cache.

cd "$SRC/paldiff"
export PALDIFF_CACHE=${PALDIFF_CACHE:-$WORK/cache} LDFLAGS="${LDFLAGS-} -static-libstdc++ -static-libgcc"
# Engines that leave out checks when they are fuzzed are not those that a port is used with.
own=-UFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
if [[ $SANITIZER == memory ]]; then
  LDFLAGS+=' -Wl,-z,muldefs' # GNU's static C++ library and the sanitizer both define operator new; both call malloc
elif [[ $SANITIZER == undefined ]]; then
  # OpenSSL calls through cast function types; ciphers wrap by design, and each wrap would be a call; BoringSSL is built
  # without type information.
  own+=' -fno-sanitize=function,vptr,unsigned-integer-overflow'
fi
export CFLAGS="$CFLAGS $own" CXXFLAGS="$CXXFLAGS $own"

mapfile -t targets < <(sed -n 's/^TARGET(\([a-z]*\)).*/\1/p' targets/targets.def)
# The vectors are tests', which are not built here.
cmake -S . -B "$WORK/build" -DPALDIFF_WERROR=OFF -DPALDIFF_VECTORS=unused
cmake --build "$WORK/build" -j "$(nproc)" --target paldiff "${targets[@]/#/fuzz_}"

# The tool turns text into bytes here; what it may leak, and a profile of it, are of no interest.
export ASAN_OPTIONS=detect_leaks=0 LLVM_PROFILE_FILE=/dev/null
"$WORK/build/paldiff" list >"$WORK/list"
for target in "${targets[@]}"; do
  cp "$WORK/build/fuzz_$target" "$OUT/"

  seeds=$WORK/seeds/$target
  rm -rf "$seeds" "$OUT/fuzz_${target}_seed_corpus.zip"
  mkdir -p "$seeds"
  "$WORK/build/paldiff" seeds "$target" "$seeds"
  # Sorted, with one time, and without owners: the same corpus is the same archive.
  find "$seeds" -type f -exec touch -d '2000-01-01 00:00:00 UTC' {} +
  (cd "$seeds" && find . -type f -printf '%P\n' | LC_ALL=C sort | TZ=UTC zip -q -X -D -9 "$OUT/fuzz_${target}_seed_corpus.zip" -@)

  length=$(sed -n "/^$target:/,\$s/^  inputs: at most \([0-9]*\) bytes\$/\1/p" "$WORK/list" | head -n 1)
  printf '[libfuzzer]\nmax_len = %d\n' "${length:?paldiff list tells no length for $target}" >"$OUT/fuzz_$target.options"
  if [[ -e corpus/$target.dict ]]; then
    cp "corpus/$target.dict" "$OUT/fuzz_$target.dict"
    printf 'dict = %s\n' "fuzz_$target.dict" >>"$OUT/fuzz_$target.options"
  fi
done
