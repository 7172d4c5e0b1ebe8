# SPDX-License-Identifier: Apache-2.0
# A target's seeds, written as bytes, are played by its fuzz binary, which proves its alarm first.
file(REMOVE_RECURSE ${DIR})
file(MAKE_DIRECTORY ${DIR})
execute_process(COMMAND ${TOOL} seeds ${TARGET} ${DIR} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the seeds of ${TARGET} could not be written")
endif()
file(GLOB seeds ${DIR}/*)
execute_process(COMMAND ${FUZZ} ${seeds} RESULT_VARIABLE failed ERROR_VARIABLE words OUTPUT_VARIABLE words)
list(LENGTH seeds num)
# An engine may add inputs of its own (libFuzzer: empty ones).
if(failed OR num EQUAL 0 OR NOT words MATCHES "paldiff-stats plays=([0-9]+) " OR CMAKE_MATCH_1 LESS num)
  message(FATAL_ERROR "${words}")
endif()
