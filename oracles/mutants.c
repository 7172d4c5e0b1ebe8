/* SPDX-License-Identifier: Apache-2.0
 * mutants.c: the table of mutants, and making a port out of one.
 */
#include "mutants.h"

#include <stdatomic.h>
#include <string.h>

const struct mutant mutants[] = {
#define MUTANT(area, mistake, rule, witness, source)                                                                   \
    {#area "_" #mistake, #area, rule, witness, source, mutant_##area##_##mistake},
#include "mutants.def"
#undef MUTANT
};

const size_t num_mutants = sizeof(mutants) / sizeof(mutants[0]);

const struct pal_hmac_ops *mutant_good_hmac[PAL_NUM_MODES];
const struct pal_aead_ops *mutant_good_aead[PAL_NUM_MODES];
const struct pal_pool_ops *mutant_good_pool;
const struct pal_send_ops *mutant_good_send;
const struct pal_tls_ops *mutant_good_tls;
const struct pal_token_ops *mutant_good_token;
static atomic_uint_fast64_t fired;

const struct mutant *mutant_find(const char *name)
{
    for (size_t i = 0; i < num_mutants; i++) {
        if (strcmp(mutants[i].name, name) == 0) {
            return &mutants[i];
        }
    }
    return NULL;
}

const struct pal_port *mutant_port(const struct mutant *mutant, const struct pal_port *good)
{
    static struct pal_port port;
    static struct mutant_tables tables;
    port = *good;
    memset(&tables, 0, sizeof(tables));
    for (size_t mode = 0; mode < PAL_NUM_MODES; mode++) {
        mutant_good_hmac[mode] = good->hmac[mode];
        mutant_good_aead[mode] = good->aead[mode];
        if (good->hmac[mode] != NULL) {
            tables.hmac[mode] = *good->hmac[mode];
            port.hmac[mode] = &tables.hmac[mode];
        }
        if (good->aead[mode] != NULL) {
            tables.aead[mode] = *good->aead[mode];
            port.aead[mode] = &tables.aead[mode];
        }
    }
    mutant_good_pool = good->pool;
    if (good->pool != NULL) {
        tables.pool = *good->pool;
        port.pool = &tables.pool;
    }
    mutant_good_send = good->send;
    if (good->send != NULL) {
        tables.send = *good->send;
        port.send = &tables.send;
    }
    mutant_good_tls = good->tls;
    if (good->tls != NULL) {
        tables.tls = *good->tls;
        port.tls = &tables.tls;
    }
    mutant_good_token = good->token;
    if (good->token != NULL) {
        tables.token = *good->token;
        port.token = &tables.token;
    }
    mutant->install(&tables);
    fired = 0;
    return &port;
}

uint64_t mutant_fired(void)
{
    return fired;
}

void mutant_fire(void)
{
    fired++;
}
