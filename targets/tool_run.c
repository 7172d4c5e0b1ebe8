/* SPDX-License-Identifier: Apache-2.0
 * tool_run.c: being written.
 */
#include "tool.h"

int tool_run(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return EXIT_SUITE;
}
