/* SPDX-License-Identifier: Apache-2.0
 * status.c: the names of status.def, by number.
 * It knows no more about a status than its row does; sentences are for documents, and are not compiled in.
 * It breaks when rows are reordered: numbers are recorded in traces.
 */
#include "pal.h"

static const char *const texts[PAL_NUM_STATUSES] = {
#define STATUS(name, text, sentence) [PAL_##name] = (text),
#include "status.def"
#undef STATUS
};

const char *pal_status_name(enum pal_status status)
{
    return (unsigned)status < PAL_NUM_STATUSES ? texts[status] : "?";
}
