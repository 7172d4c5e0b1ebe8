/* SPDX-License-Identifier: Apache-2.0
 * targets.c: the table of targets. A fuzz program has one target and does not link this: what it is not about would
 * only give its engine more to count.
 */
#include "harness.h"

#include <string.h>

const struct target *const targets[] = {
#define TARGET(name) &target_##name,
#include "targets.def"
#undef TARGET
};

const size_t num_targets = sizeof(targets) / sizeof(targets[0]);

const struct target *target_find(const char *name)
{
    for (size_t i = 0; i < num_targets; i++) {
        if (strcmp(targets[i]->name, name) == 0) {
            return targets[i];
        }
    }
    return NULL;
}

const struct target *harness_target_of(const char *path, struct pal_view input, const char *wanted)
{
    char named[64];
    if (scenario_target_name(named, sizeof(named), input)) {
        return target_find(named);
    }
    for (size_t i = 0; wanted[0] == '\0' && i < num_targets; i++) {
        const char *name = targets[i]->name;
        size_t len = strlen(name);
        for (const char *at = strstr(path, name); at != NULL; at = strstr(at + 1, name)) {
            if ((at == path || at[-1] == '/') && (at[len] == '/' || at[len] == '-')) {
                return targets[i];
            }
        }
    }
    return target_find(wanted);
}
