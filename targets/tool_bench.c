/* SPDX-License-Identifier: Apache-2.0
 * tool_bench.c: being written.
 */
#include "tool.h"

int tool_bench(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return EXIT_SUITE;
}
