/* SPDX-License-Identifier: Apache-2.0
 * conform_port.c: loading a port and asking what it declares. Everything here runs in a child process.
 */
#include "conform.h"

#include <dlfcn.h>
#include <string.h>

const char *const conform_area_names[6] = {"pool", "tls", "send", "hmac", "aead", "token"};

/* as_process: what of a port in C a process would show. */
static const struct pal_port *as_process(const struct pal_port *port)
{
    static struct pal_port shown;
    shown = *port;
    shown.pool = NULL;
    shown.token = NULL;
    shown.env_random = false;
    shown.env_clock = false;
    return &shown;
}

const struct pal_port *conform_port_open(const struct conform_source *source, shim_failed_fn *failed,
                                         char error[CONFORM_TEXT_MAX])
{
    pal_port_get_fn *get = NULL;
    if (source->shim != NULL) {
        return shim_port_open(source->shim, failed, error);
    }
    void *library = dlopen(source->file, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != NULL ? dlsym(library, "pal_port_get") : NULL;
    if (symbol == NULL) {
        const char *words = dlerror();
        (void)snprintf(error, CONFORM_TEXT_MAX, "%s", words != NULL ? words : "pal_port_get is NULL");
        return NULL;
    }
    memcpy(&get, &symbol, sizeof(get)); /* ISO C has no cast from an object's pointer to a function's */
    const struct pal_port *port = get();
    if (port == NULL) {
        (void)snprintf(error, CONFORM_TEXT_MAX, "pal_port_get gave NULL: the port's engine cannot be started");
    }
    return port != NULL && port->abi == PAL_ABI_VERSION && source->process ? as_process(port) : port;
}

/* note_missing: a table is functions and nothing else, so that it can be read as an array of them. */
static void note_missing(struct conform_declared *out, const void *table, size_t len, const char *const names[])
{
    typedef void any_fn(void);
    for (size_t i = 0; table != NULL && i < len / sizeof(any_fn *); i++) {
        any_fn *one = NULL;
        memcpy(&one, (const char *)table + i * sizeof(one), sizeof(one));
        if (one == NULL && out->missing[0] == '\0') {
            (void)snprintf(out->missing, sizeof(out->missing), "%s", names[i]);
        }
    }
}

static void note_tables(struct conform_declared *out, const struct pal_port *port)
{
    static const char *const pool[] = {"pool.open",    "pool.close", "pool.rent",
                                       "pool.release", "pool.trim",  "pool.stats"};
    static const char *const tls[] = {"tls.open",         "tls.close",    "tls.handshake",    "tls.set_identity",
                                      "tls.encrypt",      "tls.decrypt",  "tls.update_keys",  "tls.renegotiate",
                                      "tls.alert",        "tls.shutdown", "tls.take_pending", "tls.info",
                                      "tls.export_ticket"};
    static const char *const send[] = {"send.begin", "send.resume", "send.cancel", "send.end"};
    static const char *const hmac[] = {"hmac.digest", "hmac.start", "hmac.update",
                                       "hmac.finish", "hmac.drop",  "hmac.stats"};
    static const char *const aead[] = {"aead.seal", "aead.open", "aead.seal_fresh", "aead.drop", "aead.stats"};
    static const char *const token[] = {"token.reserve", "token.append", "token.release"};
    _Static_assert(sizeof(struct pal_pool_ops) == sizeof(pool), "every function has its name");
    _Static_assert(sizeof(struct pal_tls_ops) == sizeof(tls), "every function has its name");
    _Static_assert(sizeof(struct pal_send_ops) == sizeof(send), "every function has its name");
    _Static_assert(sizeof(struct pal_hmac_ops) == sizeof(hmac), "every function has its name");
    _Static_assert(sizeof(struct pal_aead_ops) == sizeof(aead), "every function has its name");
    _Static_assert(sizeof(struct pal_token_ops) == sizeof(token), "every function has its name");
    note_missing(out, port->pool, sizeof(pool), pool);
    note_missing(out, port->tls, sizeof(tls), tls);
    note_missing(out, port->send, sizeof(send), send);
    note_missing(out, port->token, sizeof(token), token);
    for (size_t mode = 0; mode < PAL_NUM_MODES; mode++) {
        note_missing(out, port->hmac[mode], sizeof(hmac), hmac);
        note_missing(out, port->aead[mode], sizeof(aead), aead);
        out->modes[0][mode] = port->hmac[mode] != NULL;
        out->modes[1][mode] = port->aead[mode] != NULL;
    }
    const bool areas[] = {port->pool != NULL,
                          port->tls != NULL,
                          port->send != NULL,
                          out->modes[0][PAL_FRESH] || out->modes[0][PAL_REUSED],
                          out->modes[1][PAL_FRESH] || out->modes[1][PAL_REUSED],
                          port->token != NULL};
    memcpy(out->areas, areas, sizeof(areas));
}

void conform_declare(struct conform_declared *out, const struct conform_source *source)
{
    const struct pal_port *port = conform_port_open(source, NULL, out->error);
    out->process = source->process;
    if (port == NULL) {
        return;
    }
    out->abi = port->abi;
    if (port->abi == PAL_ABI_VERSION) { /* what lies behind the first field is known by the version alone */
        (void)snprintf(out->name, sizeof(out->name), "%s", port->name != NULL ? port->name : "");
        (void)snprintf(out->version, sizeof(out->version), "%s", port->version != NULL ? port->version : "");
        out->env_random = port->env_random;
        out->env_clock = port->env_clock;
        note_tables(out, port);
        for (size_t i = 0; i < num_targets && i < CONFORM_TARGETS_MAX; i++) {
            struct pal_port scratch = *port;
            out->targets[i] = targets[i]->adopt(&scratch, port);
        }
    }
    out->loaded = true;
}
