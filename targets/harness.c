/* SPDX-License-Identifier: Apache-2.0
 * harness.c: shared by the fuzz entry and the tool; it decides nothing about any area.
 */
#include "harness.h"

#include "poison.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#if defined(__clang__)
#define COMPILER __VERSION__ /* names itself */
#else
#define COMPILER "gcc " __VERSION__
#endif

bool harness_mutant(const struct pal_port **out, const struct target *target, const char *name)
{
    *out = NULL;
    if (name == NULL) {
        return true;
    }
    const struct mutant *mutant = mutant_find(name);
    if (mutant == NULL || strcmp(mutant->area, target->name) != 0) {
        (void)fprintf(stderr, "paldiff: target %s has no mutant %s; `paldiff mutants --list` names them\n",
                      target->name, name);
        return false;
    }
    const struct pal_port *good = target->mutated();
    *out = good != NULL ? mutant_port(mutant, good) : NULL;
    return *out != NULL;
}

/* play_twice: the rule that broke, or NULL; *out_exact is false when the two plays differ. */
static const struct rule *play_twice(const struct target *target, const char *mutant, const char *text, bool *out_exact)
{
    struct stage *stage = malloc(sizeof(*stage));
    struct verdict verdict;
    const struct pal_port *port = NULL;
    const struct rule *rule = NULL;
    char error[SCENARIO_ERROR_MAX];
    *out_exact = false;
    if (stage == NULL || !harness_mutant(&port, target, mutant) || !stage_init(stage, target, port)) {
        goto done;
    }
    if (scenario_parse(&stage->scenario, target->language, (struct pal_view){(const uint8_t *)text, strlen(text)},
                       error)) {
        rule = stage_play(stage, &verdict);
        uint64_t hash = stage_hash(stage);
        *out_exact = stage_play(stage, &verdict) == rule && stage_hash(stage) == hash;
    } else {
        (void)fprintf(stderr, "paldiff: the alarm scenario of %s: %s\n", target->name, error);
    }
    stage_deinit(stage);
done:
    free(stage);
    return rule;
}

bool harness_self_test(const struct target *target)
{
    char control[64];
    bool equal_exact = false;
    bool differ_exact = false;
    (void)snprintf(control, sizeof(control), "%s_null", target->name);
    const struct rule *equal = play_twice(target, control, target->alarm_scenario, &equal_exact);
    const struct rule *differ = play_twice(target, target->alarm_mutant, target->alarm_scenario, &differ_exact);
    if (!equal_exact || !differ_exact) {
        (void)fprintf(stderr, "paldiff: target %s does not replay exactly, it will not run\n", target->name);
        return false;
    }
    if (equal != NULL) {
        (void)fprintf(stderr, "paldiff: target %s flags two worlds that are equal (%s.%s), it will not run\n",
                      target->name, equal->area, equal->name);
        return false;
    }
    if (differ == NULL) {
        (void)fprintf(stderr, "paldiff: target %s does not see the planted bug %s, it will not run\n", target->name,
                      target->alarm_mutant);
        return false;
    }
    return true;
}

bool harness_load(struct stage *stage, const char *name, struct pal_view input)
{
    char error[SCENARIO_ERROR_MAX];
    if (!scenario_is_text(input)) {
        scenario_decode(&stage->scenario, stage->target->language, input);
        return true;
    }
    if (!scenario_parse(&stage->scenario, stage->target->language, input, error)) {
        (void)fprintf(stderr, "paldiff: %s: %s\n", name, error);
        return false;
    }
    return true;
}

bool harness_read(const char *path, uint8_t **out_data, size_t *out_len)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(HARNESS_FILE_MAX + 1);
    size_t len = 0;
    bool good = false;
    if (file == NULL || data == NULL) {
        (void)fprintf(stderr, "paldiff: %s cannot be read: %s\n", path, strerror(errno));
        goto done;
    }
    len = fread(data, 1, HARNESS_FILE_MAX + 1, file);
    if (ferror(file) != 0) {
        (void)fprintf(stderr, "paldiff: %s cannot be read: %s\n", path, strerror(errno));
    } else if (len > HARNESS_FILE_MAX) {
        (void)fprintf(stderr, "paldiff: %s is refused: larger than %u bytes\n", path, HARNESS_FILE_MAX);
    } else {
        good = true;
    }
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    if (good) {
        /* Exact size, so that a read past the end is seen. */
        uint8_t *exact = realloc(data, len > 0 ? len : 1);
        *out_data = exact != NULL ? exact : data;
        *out_len = len;
    } else {
        free(data);
    }
    return good;
}

void harness_report(FILE *out, const struct stage *stage, const struct rule *rule, const struct verdict *verdict)
{
    (void)fprintf(out, "rule %s.%s target %s step %zu got %s want %s\n", rule->area, rule->name, stage->target->name,
                  verdict->step + 1, verdict->got, verdict->want);
    (void)fprintf(out, "  clause: %s\n  world: %s\n", rule->sentence, verdict->world->name);
    (void)fputs("  operation: ", out);
    if (verdict->step < stage->scenario.num_steps) {
        scenario_print_step(&stage->scenario, verdict->step, out);
    } else {
        (void)fputs("(the closing of every scenario)", out);
    }
    (void)fputc('\n', out);
    for (size_t i = 0; i < stage->num_worlds; i++) {
        bool has_engine = stage->worlds[i].port->hmac[stage->worlds[i].mode] != NULL;
        if (!has_engine || (i > 0 && stage->worlds[i].port == stage->worlds[i - 1].port)) {
            continue;
        }
        (void)fprintf(out, "  engine: %s, %s\n", stage->worlds[i].port->name, stage->worlds[i].port->version);
    }
    (void)fprintf(out, "  built with: %s, sanitizer %s\n", COMPILER, PALDIFF_SANITIZER);
}

void harness_print_stats(FILE *out, const struct stage *stage)
{
    (void)fprintf(out, "paldiff-stats plays=%" PRIu64 " steps=%" PRIu64 " compared=%" PRIu64 " reached=%" PRIu64 "\n",
                  stage->plays, stage->steps, stage->compared, stage->reached);
}
