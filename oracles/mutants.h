/* SPDX-License-Identifier: Apache-2.0
 * mutants.h: ports with one planted bug each. A mutant wraps a good port's tables and changes what one operation does;
 * it proves that the rule named in its row can fail. Nothing of this is ever linked into lib/.
 */
#ifndef PALDIFF_MUTANTS_H
#define PALDIFF_MUTANTS_H

#include "pal.h"

/* mutant_tables: copies of the good port's tables, to be changed; [PAL_FRESH] and [PAL_REUSED]. */
struct mutant_tables {
    struct pal_hmac_ops hmac[PAL_NUM_MODES];
    struct pal_aead_ops aead[PAL_NUM_MODES];
    struct pal_pool_ops pool;
    struct pal_send_ops send;
    struct pal_tls_ops tls;
    struct pal_token_ops token;
};

typedef void mutant_fn(struct mutant_tables *tables);

#define MUTANT(area, mistake, rule, witness, source) extern mutant_fn mutant_##area##_##mistake;
#include "mutants.def"
#undef MUTANT

struct mutant {
    const char *name;    /* area_mistake */
    const char *area;    /* target that plays it */
    const char *rule;    /* id of the rule that must catch it; "" for the controls */
    const char *witness; /* corpus/seeds/<area>/<witness>.txt shows it */
    const char *source;  /* where the bug is known from */
    mutant_fn *install;
};

extern const struct mutant mutants[];
extern const size_t num_mutants;

/* mutant_find: NULL if there is none of that name. */
const struct mutant *mutant_find(const char *name);

/* mutant_port: the good port with the bug in it. One at a time per process: the next call changes the port that the
 * last one gave. */
const struct pal_port *mutant_port(const struct mutant *mutant, const struct pal_port *good);

/* mutant_fired: how often the bug changed what the good port would have done, since mutant_port. */
uint64_t mutant_fired(void);

/* For the mutants' own files: the tables they wrap, and a note that the bug is at work. */
extern const struct pal_hmac_ops *mutant_good_hmac[PAL_NUM_MODES];
extern const struct pal_aead_ops *mutant_good_aead[PAL_NUM_MODES];
extern const struct pal_pool_ops *mutant_good_pool;
extern const struct pal_send_ops *mutant_good_send;
extern const struct pal_tls_ops *mutant_good_tls;
extern const struct pal_token_ops *mutant_good_token;
void mutant_fire(void);

#endif
