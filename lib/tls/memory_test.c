/* SPDX-License-Identifier: Apache-2.0
 * memory_test.c: each request for memory of a call is refused in turn, and mostly all after it as well, until the call
 * makes no more: it says so or does without, nothing is lost, and the connections after it are none the worse. Opening,
 * whole handshakes, every call of the table, credentials. Lives of whole connections are tls_fault_test's.
 */
#include "tls_test.h"

/* Under a sanitizer, where each takes many times as long, only every so many-th request behind the first is refused. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define STRIDE 7u
#endif
#endif
#if !defined(STRIDE)
#define STRIDE 1u
#endif

static const uint16_t versions[2] = {PAL_TLS_1_2, PAL_TLS_1_3};

/* moment: a call that is refused memory, and how a link comes to it, with memory. NULL: by opening. */
struct moment {
    const char *name;
    size_t who;
    void (*configure)(struct link *link);
    void (*before)(struct link *link);
    enum pal_status (*call)(struct link *link, struct end *end);
    enum pal_status otherwise; /* what the call answers with memory, if that is not PAL_OK */
};

static struct bytes chain;
static const uint8_t long_text[9000];

/* subject: engines, version and shape. */
struct subject {
    size_t engines[2];
    uint16_t version;
    enum pal_tls_shape shape;
};

/* tickets: of each engine's clients from servers of the same engine, in each version; made once. */
static struct bytes tickets[NUM_ENGINES][2];

/* ---- refusing ---------------------------------------------------------------------------------------------------- */

static enum pal_status open_end(struct link *link, struct end *end)
{
    (void)link;
    return end->tls_ops->open(end_env(end), &end->tls, &end->config);
}

static enum pal_status shake_all(struct link *link, struct end *end)
{
    shake(link);
    return end->status;
}

/* outcome: what both ends do when there is memory again: each sends what it owes and a record, and hears the other. */
struct outcome {
    enum pal_status pending[6], encrypt[6], decrypt[6];
    size_t sent[2], heard[2];
};

static struct outcome go_on(struct link *link)
{
    struct outcome out = {.sent = {0}};

    shake(link);
    for (size_t i = 0; i < 6; i++) {
        struct end *from = &link->ends[i & 1], *to = peer_of(link, from);

        out.pending[i] = take_pending(link, from);
        out.encrypt[i] = encrypt(link, from, text("more plaintext"));
        do {
            out.decrypt[i] = decrypt_into(to, to->inbox.len, to->inbox.len + 64);
        } while (out.decrypt[i] == PAL_OK);
    }
    for (size_t i = 0; i < 2; i++) {
        out.sent[i] = link->ends[i].wire.len;
        out.heard[i] = link->ends[i].plain.len;
    }
    return out;
}

/* held: what comes of a call that says that it did all. What it had no memory for behind plaintext, the next call says;
 * and a server does without tickets. */
static bool held(const struct moment *moment, const struct outcome *outcome, const struct outcome *usual)
{
    struct outcome want = *usual;

    if (moment->call == shake_all) {
        memcpy(want.sent, outcome->sent, sizeof(want.sent));
    }
    return outcome->encrypt[moment->who] == PAL_NO_MEMORY || memcmp(outcome, &want, sizeof(want)) == 0;
}

static void prepare(struct link *link, const struct moment *moment, const struct subject *subject)
{
    link_init(link, subject->engines[0], subject->engines[1]);
    link_certify(link, &identities[0], false);
    link_versions(link, subject->version);
    link->ends[0].config.shape = link->ends[1].config.shape = subject->shape;
    link->ends[0].config.mode = link->ends[1].config.mode = PAL_FRESH; /* tokens, too, are of memory that is refused */
    if (moment->configure != NULL) {
        moment->configure(link);
    }
    if (moment->before != NULL) {
        link_open(link);
        moment->before(link);
    }
}

/* play: the n-th request of the call is refused, none for 0; whether there was one. *usual is what comes of the call,
 * and filled by 0. */
static bool play(struct outcome *usual, const struct moment *moment, const struct subject *subject, size_t n,
                 bool for_good)
{
    struct link link;
    struct end *end = &link.ends[moment->who], *other = peer_of(&link, end);
    struct outcome outcome = *usual;
    enum pal_status status;
    bool refused;

    prepare(&link, moment, subject);
    end->world.fail_on = for_good;
    end->world.fail_at = n;
    status = moment->call(&link, end);
    refused = end->world.refused;
    end->world.fail_at = 0;
    if (status == moment->otherwise) {
        if (other->tls == NULL) {
            expect(open_end(&link, other), PAL_OK, "the other end");
        }
        outcome = go_on(&link);
    }
    *usual = n == 0 ? outcome : *usual;
    if ((status != moment->otherwise && (status != PAL_NO_MEMORY || !refused)) || !held(moment, &outcome, usual)) {
        fail_msg("%s, %s and %s, version %x, %s, request %zu: %s%s", moment->name, link.ends[0].port->name,
                 link.ends[1].port->name, subject->version, shape_names[subject->shape], n, pal_status_name(status),
                 status == moment->otherwise ? ", but not what comes of it" : "");
    }
    link_close(&link);
    return refused;
}

static void sweep(const struct moment *moment, const struct subject *subject, bool for_good)
{
    struct outcome usual = {.sent = {0}};

    (void)play(&usual, moment, subject, 0, false);
    for (size_t n = 1; play(&usual, moment, subject, n, for_good); n += n > 8 ? STRIDE : 1) {
    }
}

/* each_subject: one engine on the side that is refused memory and the other one on the other. */
static void each_subject(const struct moment *moments, size_t num, const enum pal_tls_shape *shapes, size_t num_shapes)
{
    for (size_t i = 0; i < num; i++) {
        for (size_t j = 0; j < 2 * 2 * num_shapes; j++) {
            size_t engine = j & 1;
            struct subject subject = {{engine, engine}, versions[j >> 1 & 1], shapes[j >> 2]};

            sweep(&moments[i], &subject, false);
            sweep(&moments[i], &subject, true);
        }
    }
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* The chain has the authority behind the leaf. */
static void mutual(struct link *link)
{
    link_certify(link, &identities[0], true);
    for (size_t i = 0; i < 2; i++) {
        link->ends[i].config.identity.chain = view_of(chain.data, chain.len);
    }
    link->ends[0].config.alpn = link->ends[1].config.alpn = text("\2h2");
}

/* The server has another name than the client asks for. */
static void stranger(struct link *link)
{
    mutual(link);
    link->ends[0].config.server_name = text("another.example");
}

/* BoringSSL has no external PSK of TLS 1.3. */
static void psk(struct link *link)
{
    if (link->ends[0].port == engine_port(1)) {
        link_versions(link, PAL_TLS_1_2);
    }
    for (size_t i = 0; i < 2; i++) {
        struct pal_tls_config *config = &link->ends[i].config;

        config->identity = (struct pal_tls_identity){{NULL, 0}, {NULL, 0}};
        config->trusted = config->server_name = (struct pal_view){NULL, 0};
        config->psk_identity = text("who");
        config->psk_key = text("0123456789abcdef");
    }
}

static void resume(struct link *link)
{
    const struct bytes *ticket =
        &tickets[link->ends[0].port == engine_port(1) ? 1 : 0][link->ends[0].config.version_max == PAL_TLS_1_3 ? 1 : 0];

    mutual(link);
    link->ends[0].config.ticket = view_of(ticket->data, ticket->len);
}

static void make_ticket(struct bytes *out, size_t engine, uint16_t version)
{
    struct link link;
    struct end *client = &link.ends[0];
    struct pal_token token = {0};

    link_init(&link, engine, engine);
    link_versions(&link, version);
    mutual(&link);
    link_open(&link);
    shake_well(&link);
    chat(&link);
    expect(client->tls_ops->export_ticket(client->tls, &token), PAL_OK, "export");
    bytes_add(out, token.payload, token.len);
    expect(pal_token_release(end_env(client), &token), PAL_OK, "release");
    link_close(&link);
}

static int make_tickets(void **state)
{
    int result = make_identities(state);

    bytes_add(&chain, identities[0].chain.data, identities[0].chain.len);
    bytes_add(&chain, identities[0].ca.data, identities[0].ca.len);
    for (size_t i = 0; i < 4; i++) {
        make_ticket(&tickets[i & 1][i >> 1], i & 1, versions[i >> 1]);
    }
    return result;
}

static int drop_tickets(void **state)
{
    for (size_t i = 0; i < 4; i++) {
        bytes_free(&tickets[i & 1][i >> 1]);
    }
    bytes_free(&chain);
    return drop_identities(state);
}

/* Not with RSA keys: OpenSSL 3.0 loses the numbers of one that it has read when it runs out (rsa_backend.c,
 * collect_numbers). */
static void an_end_opens_or_says_no_memory(void **state)
{
    static const struct moment moments[] = {
        {"open client", 0, mutual, NULL, open_end, PAL_OK},
        {"open server", 1, mutual, NULL, open_end, PAL_OK},
        {"open client, PSK", 0, psk, NULL, open_end, PAL_OK},
        {"open server, PSK", 1, psk, NULL, open_end, PAL_OK},
        {"open client, stranger", 0, stranger, NULL, open_end, PAL_OK},
        {"open client, ticket", 0, resume, NULL, open_end, PAL_OK},
        {"open server, ticket", 1, resume, NULL, open_end, PAL_OK},
    };
    static const enum pal_tls_shape shapes[] = {PAL_TLS_DRAIN, PAL_TLS_CALLBACK};

    (void)state;
    each_subject(moments, sizeof(moments) / sizeof(moments[0]), shapes, sizeof(shapes) / sizeof(shapes[0]));
}

/* ---- traffic ----------------------------------------------------------------------------------------------------- */

static void talk(struct link *link)
{
    shake_well(link);
    chat(link);
}

static void open_both(struct link *link)
{
    (void)link;
}

static enum pal_status say(struct link *link, struct end *end)
{
    return encrypt(link, end, text("some plaintext"));
}

static void told(struct link *link)
{
    talk(link);
    for (size_t i = 0; i < 2; i++) {
        expect(encrypt(link, &link->ends[i], text("some plaintext")), PAL_OK, "encrypt");
    }
}

static void asked_for_keys(struct link *link)
{
    talk(link);
    for (size_t i = 0; i < 2; i++) {
        (void)control(link, &link->ends[i], control_update, 1);
        expect(encrypt(link, &link->ends[i], text("some plaintext")), PAL_OK, "encrypt");
    }
}

static void heard_of_keys(struct link *link)
{
    asked_for_keys(link);
    for (size_t i = 0; i < 2; i++) {
        expect(decrypt(&link->ends[i], link->ends[i].inbox.len), PAL_OK, "decrypt");
    }
}

/* full: a record and more are inside, of which there was room for one byte. */
static void full(struct link *link)
{
    struct end *end = &link->ends[0];

    talk(link);
    for (size_t i = 0; i < 5; i++) {
        expect(encrypt(link, &link->ends[1], view_of(long_text, sizeof(long_text))), PAL_OK, "encrypt");
    }
    expect(decrypt(end, sizeof(long_text)), PAL_NEED_INPUT, "a part");
    expect(decrypt(end, 6000), PAL_OK, "another part");
    expect(decrypt(end, 1), PAL_OK, "a byte more");
}

static void told_the_end(struct link *link)
{
    talk(link);
    for (size_t i = 0; i < 2; i++) {
        expect(control(link, &link->ends[i], control_shutdown, 0), PAL_OK, "shutdown");
    }
}

static enum pal_status hear(struct link *link, struct end *end)
{
    (void)link;
    return decrypt(end, end->inbox.len);
}

/* shake_on: a handshake that is over, with input that is not its. */
static enum pal_status shake_on(struct link *link, struct end *end)
{
    (void)shake_once(link, end);
    return end->status;
}

static enum pal_status owe(struct link *link, struct end *end)
{
    return take_pending(link, end);
}

static enum pal_status update(struct link *link, struct end *end)
{
    enum pal_status status = control(link, end, control_update, 1);

    return end->config.version_max == PAL_TLS_1_2 && status == PAL_UNSUPPORTED ? PAL_OK : status;
}

static enum pal_status again(struct link *link, struct end *end)
{
    enum pal_status status = control(link, end, control_renegotiate, 0);

    return status == PAL_UNSUPPORTED ? PAL_OK : status;
}

static enum pal_status warn(struct link *link, struct end *end)
{
    return control(link, end, control_alert, 80);
}

static enum pal_status leave(struct link *link, struct end *end)
{
    return control(link, end, control_shutdown, 0);
}

static enum pal_status inform(struct link *link, struct end *end)
{
    struct pal_tls_info info;
    enum pal_status status;

    (void)link;
    status = end->tls_ops->info(end->tls, &info);
    return status == PAL_OK && info.peer_certificate.len == 0 ? PAL_ENGINE : status;
}

static enum pal_status export_ticket(struct link *link, struct end *end)
{
    struct pal_token token = {0};
    enum pal_status status = end->tls_ops->export_ticket(end->tls, &token);

    (void)link;
    status = status == PAL_OK && token.len == 0 ? PAL_ENGINE : status;
    expect(pal_token_release(end_env(end), &token), PAL_OK, "release");
    return status;
}

static void a_call_is_made_or_says_no_memory(void **state)
{
    static const struct moment moments[] = {
        {"encrypt", 0, NULL, talk, say, PAL_OK},
        {"encrypt", 1, NULL, talk, say, PAL_OK},
        {"encrypt what is owed", 0, NULL, heard_of_keys, say, PAL_OK},
        {"decrypt", 0, NULL, told, hear, PAL_OK},
        {"decrypt", 1, NULL, told, hear, PAL_OK},
        {"decrypt new keys", 0, NULL, asked_for_keys, hear, PAL_OK},
        {"decrypt the end", 1, NULL, told_the_end, hear, PAL_CLOSED},
        {"decrypt behind what is inside", 0, NULL, full, hear, PAL_OK},
        {"handshake with what is inside", 0, NULL, full, shake_on, PAL_OK},
        {"take_pending", 0, NULL, heard_of_keys, owe, PAL_OK},
        {"update_keys", 0, NULL, talk, update, PAL_OK},
        {"renegotiate, client", 0, NULL, talk, again, PAL_OK},
        {"renegotiate, server", 1, NULL, talk, again, PAL_OK},
        {"alert", 0, NULL, talk, warn, PAL_OK},
        {"alert", 1, NULL, open_both, warn, PAL_OK},
        {"shutdown", 0, NULL, talk, leave, PAL_OK},
        {"info", 0, NULL, talk, inform, PAL_OK},
        {"export_ticket", 0, NULL, talk, export_ticket, PAL_OK},
    };
    static const enum pal_tls_shape shapes[] = {PAL_TLS_SIZED, PAL_TLS_DRAIN};

    (void)state;
    each_subject(moments, sizeof(moments) / sizeof(moments[0]), shapes, sizeof(shapes) / sizeof(shapes[0]));
}

static void a_handshake_is_made_or_says_no_memory(void **state)
{
    static const struct moment moments[] = {
        {"handshake, client", 0, psk, open_both, shake_all, PAL_OK},
        {"handshake, server", 1, psk, open_both, shake_all, PAL_OK},
        {"resumption, client", 0, resume, open_both, shake_all, PAL_OK},
        {"resumption, server", 1, resume, open_both, shake_all, PAL_OK},
    };
    static const struct subject subjects[] = {{{0, 0}, PAL_TLS_1_2, PAL_TLS_DRAIN},
                                              {{0, 0}, PAL_TLS_1_3, PAL_TLS_CALLBACK},
                                              {{1, 1}, PAL_TLS_1_2, PAL_TLS_DRAIN},
                                              {{1, 1}, PAL_TLS_1_3, PAL_TLS_PENDING}};

    (void)state;
    for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
        for (size_t j = 0; j < sizeof(subjects) / sizeof(subjects[0]); j++) {
            sweep(&moments[i], &subjects[j], false);
        }
    }
}

/* ---- credentials ------------------------------------------------------------------------------------------------- */

static void connect_with(const struct pal_tls_credentials *credentials)
{
    struct link link;

    link_init(&link, 0, 1);
    link_certify(&link, credentials, false);
    link_open(&link);
    talk(&link);
    link_close(&link);
}

/* By OpenSSL only: BoringSSL of Android 13 loses an encoding when it runs out (v3_conf.c, do_ext_i2d), and frees the
 * extensions of a certificate that still has them (x509_v3.c, X509v3_add_ext). */
static void credentials_are_made_or_say_no_memory(void **state)
{
    const struct pal_tls_identity_spec spec = {PAL_TLS_KEY_P256, text("peer.example"), TEST_NOW, TEST_NOW + 1};
    bool refused = true;

    (void)state;
    for (size_t n = 1; refused; n += n > 8 ? STRIDE : 1) {
        struct pal_tls_credentials credentials = {0};
        struct world world;
        enum pal_status status;

        world_init(&world, 5);
        world.fail_at = n;
        status = pal_tls_make_identity_openssl(&world.env, &credentials, &spec);
        refused = world.refused;
        if (status != PAL_OK && (status != PAL_NO_MEMORY || !refused)) {
            fail_msg("request %zu: %s", n, pal_status_name(status));
        }
        if (status == PAL_OK) {
            connect_with(&credentials);
        }
        pal_tls_credentials_release(&world.env, &credentials);
        world_settled(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_opens_or_says_no_memory),
        cmocka_unit_test(a_call_is_made_or_says_no_memory),
        cmocka_unit_test(a_handshake_is_made_or_says_no_memory),
        cmocka_unit_test(credentials_are_made_or_say_no_memory),
    };

    return cmocka_run_group_tests(tests, make_tickets, drop_tickets);
}
