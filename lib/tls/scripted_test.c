/* SPDX-License-Identifier: Apache-2.0
 * scripted_test.c: the double speaks to itself through all shapes, does what its script says, and what a step answers
 * reaches the caller as the shape's table says, with the bytes that were emitted before.
 */
#include "scripted.h"
#include "tls_test.h"

static void setup(struct link *link, int shape, const struct scripted_step *steps, size_t num_steps)
{
    link_init(link, 0, 0);
    for (size_t i = 0; i < 2; i++) {
        link->ends[i].port = pal_port_scripted();
        link->ends[i].tls_ops = pal_port_scripted()->tls;
        link->ends[i].config.shape = (enum pal_tls_shape)shape;
        link->ends[i].config.mode = (enum pal_mode)i;
    }
    link->ends[0].config.trusted = view_of(steps, num_steps * sizeof(*steps));
    link_open(link);
}

static void it_talks_to_itself_in_any_pieces(void **state)
{
    static uint8_t plain[50000];

    (void)state;
    for (int shape = 0; shape < PAL_TLS_NUM_SHAPES; shape++) {
        for (size_t chunk = 0; chunk < 400; chunk = chunk * 3 + 1) {
            struct link link;

            setup(&link, shape, NULL, 0);
            link.ends[0].chunk_max = link.ends[1].chunk_max = chunk;
            shake_well(&link);
            chat(&link);
            carry(&link, &link.ends[0], view_of(plain, sizeof(plain)));
            expect(control(&link, &link.ends[0], control_update, 1), PAL_OK, "update_keys");
            chat(&link);
            expect(control(&link, &link.ends[1], control_renegotiate, 0), PAL_UNSUPPORTED, "renegotiate");
            expect(control(&link, &link.ends[0], control_shutdown, 0), PAL_OK, "shutdown");
            expect(decrypt(&link.ends[1], link.ends[1].inbox.len), PAL_CLOSED, "close_notify");
            expect(decrypt(&link.ends[1], 0), PAL_CLOSED, "behind it");
            link_close(&link);
        }
    }
}

/* answers: of steps, in every shape's words. The first four stay for ever. */
static const struct {
    enum tls_event event;
    enum pal_status status;
} answers[] = {{TLS_FAILED, PAL_PROTOCOL},           {TLS_NO_MEMORY, PAL_NO_MEMORY},
               {TLS_NO_RANDOM, PAL_NO_RANDOM},       {TLS_BROKEN, PAL_ENGINE},
               {TLS_WANT_READ, PAL_NEED_INPUT},      {TLS_WANT_CREDENTIALS, PAL_NEED_CREDENTIALS},
               {TLS_RENEGOTIATING, PAL_RENEGOTIATE}, {TLS_CLOSED, PAL_CLOSED}};

static void a_step_answers_with_its_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < PAL_TLS_NUM_SHAPES * sizeof(answers) / sizeof(answers[0]); i++) {
        int shape = (int)(i % PAL_TLS_NUM_SHAPES);
        enum tls_event event = answers[i / PAL_TLS_NUM_SHAPES].event;
        enum pal_status want = answers[i / PAL_TLS_NUM_SHAPES].status;
        const struct scripted_step step = {
            SCRIPTED_HANDSHAKE, (uint8_t)event, SCRIPTED_INSTEAD | SCRIPTED_RAW, 3, 0, 7, 0, 100};
        struct link link;
        size_t sent;
        bool late;

        setup(&link, shape, &step, 1);
        (void)shake_once(&link, &link.ends[0]);
        expect(link.ends[0].status, want, shape_names[shape]);
        sent = link.ends[0].wire.len;
        /* Credentials come before the drain in two shapes, and without randomness nothing leaves. */
        late = event == TLS_WANT_CREDENTIALS && (shape == PAL_TLS_DRAIN || shape == PAL_TLS_CALLBACK);
        assert_int_equal(sent, late || event == TLS_NO_RANDOM ? 0 : 100);
        expect(take_pending(&link, &link.ends[0]), event == TLS_NO_RANDOM ? PAL_NO_RANDOM : PAL_OK, "take_pending");
        assert_int_equal(link.ends[0].wire.len, event == TLS_NO_RANDOM ? 0 : 100);
        for (size_t j = 0; j < link.ends[0].wire.len; j++) {
            assert_int_equal(link.ends[0].wire.data[j], 7 + j);
        }
        link_close(&link);
    }
}

static void a_failing_write_keeps_its_bytes_as_the_shape_does(void **state)
{
    const struct scripted_step steps[] = {
        {SCRIPTED_WRITE, TLS_DONE, 0, 1, 0, 0, 0, 0},
        {SCRIPTED_WRITE, TLS_FAILED, SCRIPTED_INSTEAD | SCRIPTED_RAW, 2, 0, 0, 0, 60}};
    static const uint8_t plain[SCRIPTED_PLAIN_MAX + 1];

    (void)state;
    for (int shape = 0; shape < PAL_TLS_NUM_SHAPES; shape++) {
        struct link link;
        size_t before, all = shape == PAL_TLS_SIZED ? 60 : 5 + SCRIPTED_PLAIN_MAX + 17 + 60;

        setup(&link, shape, steps, 2);
        shake_well(&link);
        before = link.ends[0].wire.len;
        expect(encrypt(&link, &link.ends[0], view_of(plain, sizeof(plain))), PAL_PROTOCOL, "encrypt");
        assert_int_equal(link.ends[0].wire.len - before, shape == PAL_TLS_PENDING ? all : 0);
        expect(take_pending(&link, &link.ends[0]), PAL_OK, "take_pending");
        assert_int_equal(link.ends[0].wire.len - before, all);
        link_close(&link);
    }
}

static void chunks_change_no_byte(void **state)
{
    (void)state;
    for (int shape = 0; shape < PAL_TLS_NUM_SHAPES; shape++) {
        for (uint8_t num_chunks = 0; num_chunks < 40; num_chunks += 3) {
            const struct scripted_step steps[] = {
                {.call = SCRIPTED_WRITE, .event = TLS_DONE, .num_chunks = num_chunks},
                {.call = SCRIPTED_WRITE, .event = TLS_DONE, .num_chunks = num_chunks, .type = 22, .emit_len = 2000}};
            struct link link;

            setup(&link, shape, steps, 2);
            shake_well(&link);
            carry(&link, &link.ends[0], text("in pieces"));
            carry(&link, &link.ends[0], text("more than was reserved"));
            link_close(&link);
        }
    }
}

/* ---- input ------------------------------------------------------------------------------------------------------- */

static void headers_that_no_record_has_are_refused(void **state)
{
    static const struct {
        const char *what;
        char bytes[6];
    } cases[] = {{"type", "\x15\x03\x03\0\x20"},
                 {"major version", "\x17\x02\x03\0\x20"},
                 {"minor version", "\x17\x03\x04\0\x20"},
                 {"too long", "\x17\x03\x03\x70\0"},
                 {"too short", "\x17\x03\x03\0\x10"}};

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        struct link link;

        setup(&link, i & 1 ? PAL_TLS_CALLBACK : PAL_TLS_DRAIN, NULL, 0);
        shake_well(&link);
        bytes_add(&link.ends[0].inbox, cases[i >> 1].bytes, 5);
        expect(decrypt(&link.ends[0], 5), PAL_PROTOCOL, cases[i >> 1].what);
        link_close(&link);
    }
}

/* A byte of a record is another one; the first one is lost; it comes again. */
static void records_are_summed_and_numbered(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct link link;
        struct end *to = &link.ends[1];
        size_t len;

        setup(&link, PAL_TLS_DRAIN, NULL, 0);
        shake_well(&link);
        expect(encrypt(&link, &link.ends[0], text("some")), PAL_OK, "encrypt");
        len = to->inbox.len;
        expect(encrypt(&link, &link.ends[0], text("more")), PAL_OK, "encrypt");
        to->inbox.data[5] ^= i == 0 ? 1 : 0;
        bytes_drop(&to->inbox, i == 1 ? len : 0);
        if (i == 2) {
            memcpy(to->inbox.data + len, to->inbox.data, len);
            expect(decrypt(to, len), PAL_OK, "once");
        }
        expect(decrypt(to, len), PAL_PROTOCOL, i == 0 ? "changed" : i == 1 ? "without the first" : "again");
        link_close(&link);
    }
}

/* tells: the server writes one record as `step` says, and the client reads it. */
static enum pal_status tells(struct link *link, const struct scripted_step *step)
{
    setup(link, PAL_TLS_DRAIN, NULL, 0);
    link->ends[1].tls_ops->close(link->ends[1].tls);
    link->ends[1].config.trusted = view_of(step, sizeof(*step));
    expect(link->ends[1].tls_ops->open(end_env(&link->ends[1]), &link->ends[1].tls, &link->ends[1].config), PAL_OK,
           "open");
    shake_well(link);
    expect(encrypt(link, &link->ends[1], text("x")), PAL_OK, "encrypt");
    return decrypt(&link->ends[0], link->ends[0].inbox.len);
}

/* An alert has two bytes and a KeyUpdate five; what else comes is read past. */
static void records_that_mean_nothing_change_nothing(void **state)
{
    static const struct scripted_step steps[] = {{SCRIPTED_WRITE, TLS_DONE, SCRIPTED_INSTEAD, 1, 21, 0, 0, 3},
                                                 {SCRIPTED_WRITE, TLS_DONE, SCRIPTED_INSTEAD, 1, 20, 24, 0, 5},
                                                 {SCRIPTED_WRITE, TLS_DONE, SCRIPTED_INSTEAD, 1, 22, 24, 0, 4},
                                                 {SCRIPTED_WRITE, TLS_DONE, SCRIPTED_INSTEAD, 1, 22, 24, 0, 5},
                                                 {SCRIPTED_WRITE, TLS_DONE, SCRIPTED_INSTEAD, 1, 22, 253, 0, 5}};

    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct link link;
        size_t len_before;

        expect(tells(&link, &steps[i]), PAL_NEED_INPUT, "decrypt");
        len_before = link.ends[0].wire.len;
        expect(take_pending(&link, &link.ends[0]), PAL_OK, "take_pending");
        assert_int_equal(link.ends[0].wire.len, len_before);
        chat(&link);
        link_close(&link);
    }
}

static void two_requests_for_keys_are_answered_once(void **state)
{
    struct link link;
    size_t len_before;

    (void)state;
    setup(&link, PAL_TLS_DRAIN, NULL, 0);
    shake_well(&link);
    for (int i = 0; i < 2; i++) {
        expect(control(&link, &link.ends[1], control_update, 1), PAL_OK, "update_keys");
    }
    expect(decrypt(&link.ends[0], link.ends[0].inbox.len), PAL_NEED_INPUT, "decrypt");
    len_before = link.ends[0].wire.len;
    expect(take_pending(&link, &link.ends[0]), PAL_OK, "take_pending");
    assert_int_equal(link.ends[0].wire.len - len_before, 5 + 5 + 17);
    expect(take_pending(&link, &link.ends[0]), PAL_OK, "take_pending");
    assert_int_equal(link.ends[0].wire.len - len_before, 5 + 5 + 17);
    link_close(&link);
}

static void a_handshake_hears_nothing_but_a_handshake(void **state)
{
    const struct scripted_step step = {SCRIPTED_HANDSHAKE, TLS_WANT_READ, SCRIPTED_INSTEAD, 1, 23, 0, 0, 10};
    struct link link;

    (void)state;
    setup(&link, PAL_TLS_DRAIN, &step, 1);
    (void)shake_once(&link, &link.ends[0]);
    (void)shake_once(&link, &link.ends[1]);
    expect(link.ends[1].status, PAL_PROTOCOL, "data instead of a hello");
    link_close(&link);
}

/* ---- steps of a script ------------------------------------------------------------------------------------------- */

static void a_read_gives_what_its_step_says(void **state)
{
    static const struct {
        uint16_t plain_lens[2]; /* of two steps */
        size_t cap;
        enum pal_status status;
        size_t count;
    } cases[] = {{{10, 0}, 64, PAL_OK, 10},
                 {{100, 0}, 64, PAL_OK, 64},
                 {{0, 10}, 64, PAL_NEED_INPUT, 0},
                 {{10, 0}, 0, PAL_NO_SPACE, 0},
                 {{0, 10}, 0, PAL_NEED_INPUT, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct scripted_step steps[] = {
            {SCRIPTED_READ, TLS_DONE, SCRIPTED_INSTEAD, 1, 0, 9, cases[i].plain_lens[0], 0},
            {SCRIPTED_READ, TLS_DONE, SCRIPTED_INSTEAD, 1, 0, 9, cases[i].plain_lens[1], 0}};
        struct link link;
        struct end *end = &link.ends[0];

        setup(&link, PAL_TLS_DRAIN, steps, 2);
        shake_well(&link);
        expect(decrypt_into(end, 0, cases[i].cap), cases[i].status, "decrypt");
        assert_int_equal(end->plain.len, cases[i].count);
        for (size_t j = 0; j < end->plain.len; j++) {
            assert_int_equal(end->plain.data[j], 9 + j);
        }
        link_close(&link);
    }
}

/* Room for nothing is asked for by a shape that looks whether there is anything. */
static void plaintext_is_told_of_without_room(void **state)
{
    (void)state;
    for (int shape = 0; shape < PAL_TLS_NUM_SHAPES; shape++) {
        struct link link;
        struct end *to = &link.ends[1];

        setup(&link, shape, NULL, 0);
        shake_well(&link);
        expect(encrypt(&link, &link.ends[0], text("plaintext")), PAL_OK, "encrypt");
        expect(decrypt(to, to->inbox.len - 1), PAL_NEED_INPUT, "all but a byte");
        expect(decrypt(to, 1), PAL_OK, "one byte of it");
        expect(decrypt_into(to, 0, 0), PAL_NO_SPACE, "room for nothing");
        expect(decrypt_into(to, 0, 64), PAL_OK, "the rest");
        assert_int_equal(to->plain.len, 9);
        assert_memory_equal(to->plain.data, "plaintext", 9);
        link_close(&link);
    }
}

/* A shape that asks twice in a call hears of the failure twice. */
static void a_failure_stays(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4 * PAL_TLS_NUM_SHAPES; i++) {
        const struct scripted_step step = {
            SCRIPTED_READ, (uint8_t)answers[i / PAL_TLS_NUM_SHAPES].event, SCRIPTED_INSTEAD, 1, 0, 0, 0, 0};
        struct link link;

        setup(&link, (int)(i % PAL_TLS_NUM_SHAPES), &step, 1);
        shake_well(&link);
        expect(encrypt(&link, &link.ends[1], text("plaintext")), PAL_OK, "encrypt");
        expect(decrypt(&link.ends[0], link.ends[0].inbox.len), answers[i / PAL_TLS_NUM_SHAPES].status, "decrypt");
        link_close(&link);
    }
}

static void steps_beyond_the_tables_are_cut(void **state)
{
    const struct scripted_step odd = {SCRIPTED_HANDSHAKE, TLS_NUM_EVENTS, SCRIPTED_INSTEAD, 1, 0, 0, 0, 0};
    const struct scripted_step long_one = {
        SCRIPTED_HANDSHAKE, TLS_WANT_READ, SCRIPTED_INSTEAD | SCRIPTED_RAW, 1, 0, 0, 0, SCRIPTED_EMIT_MAX + 1};
    struct link link;

    (void)state;
    setup(&link, PAL_TLS_DRAIN, &odd, 1);
    (void)shake_once(&link, &link.ends[0]);
    expect(link.ends[0].status, PAL_ENGINE, "an event that is none");
    link_close(&link);
    setup(&link, PAL_TLS_DRAIN, &long_one, 1);
    (void)shake_once(&link, &link.ends[0]);
    assert_int_equal(link.ends[0].wire.len, SCRIPTED_EMIT_MAX);
    link_close(&link);
}

/* A part of a record is inside, and the engine asks for more without a look at it: what came is still the caller's. */
static void input_inside_comes_before_input_of_the_call(void **state)
{
    const struct scripted_step steps[] = {{SCRIPTED_HANDSHAKE, TLS_DONE, SCRIPTED_INSTEAD, 1, 0, 0, 0, 0},
                                          {SCRIPTED_HANDSHAKE, TLS_WANT_READ, SCRIPTED_INSTEAD, 1, 0, 0, 0, 0}};
    struct link link;
    struct end *end = &link.ends[0];
    struct pal_token token = {0};
    size_t consumed = SIZE_MAX;

    (void)state;
    setup(&link, PAL_TLS_SIZED, steps, 2);
    (void)shake_once(&link, end);
    expect(end->status, PAL_OK, "handshake");
    bytes_add(&end->inbox, "\x17\x03\x03\0\x20", 5);
    expect(decrypt(end, 5), PAL_NEED_INPUT, "a header");
    expect(end->tls_ops->handshake(end->tls, &token, &consumed, text("more")), PAL_NEED_INPUT, "handshake");
    assert_int_equal(consumed, 0);
    link_close(&link);
}

/* A record is inside that a step read past, and two more are given to the handshake that wants all three. */
static void input_inside_is_what_a_handshake_goes_on_with(void **state)
{
    static const struct scripted_step steps[] = {{SCRIPTED_HANDSHAKE, TLS_DONE, 0, 1, 0, 0, 0, 0},
                                                 {SCRIPTED_HANDSHAKE, TLS_DONE, SCRIPTED_INSTEAD, 1, 0, 0, 0, 0},
                                                 {SCRIPTED_READ, TLS_DONE, SCRIPTED_INSTEAD, 1, 0, 0, 5000, 0},
                                                 {SCRIPTED_READ, TLS_DONE, SCRIPTED_INSTEAD, 1, 0, 0, 5000, 0}};

    (void)state;
    for (int shape = 0; shape < PAL_TLS_NUM_SHAPES; shape++) {
        struct link link;

        setup(&link, shape, steps, 4);
        for (size_t i = 0; i < 3; i++) {
            (void)shake_once(&link, &link.ends[i & 1]);
        }
        expect(decrypt(&link.ends[0], 5 + 90 + 17), PAL_OK, "decrypt");
        shake_well(&link);
        link_close(&link);
    }
}

static void an_identity_may_come_late(void **state)
{
    const struct pal_tls_identity identity = {{NULL, 0}, {NULL, 0}};
    struct link link;
    struct end *server = &link.ends[1];
    struct pal_tls_info info;

    (void)state;
    setup(&link, PAL_TLS_DRAIN, NULL, 0);
    expect(server->tls_ops->set_identity(server->tls, &identity), PAL_BAD_STATE, "not late");
    link_close(&link);
    link_init(&link, 0, 0);
    for (size_t i = 0; i < 2; i++) {
        link.ends[i].port = pal_port_scripted();
        link.ends[i].tls_ops = pal_port_scripted()->tls;
        link.ends[i].config.late_identity = true;
    }
    link_open(&link);
    expect(server->tls_ops->info(server->tls, &info), PAL_OK, "info");
    assert_int_equal(info.version, 0);
    shake(&link);
    expect(server->status, PAL_NEED_CREDENTIALS, "server");
    expect(server->tls_ops->set_identity(server->tls, &identity), PAL_OK, "set_identity");
    expect(server->tls_ops->set_identity(server->tls, &identity), PAL_BAD_STATE, "again");
    shake_well(&link);
    expect(server->tls_ops->info(server->tls, &info), PAL_OK, "info");
    assert_int_equal(info.version, PAL_TLS_1_3);
    link_close(&link);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* live: all that allocates, given up when `end` has no more. */
static void live(struct link *link, struct end *end)
{
    static uint8_t plain[20000];
    struct end *other = peer_of(link, end);

    shake(link);
    for (int i = 0; i < 3 && end->status == PAL_OK && other->status == PAL_OK; i++) {
        (void)control(link, other, control_update, 1);
        (void)encrypt(link, other, view_of(plain, sizeof(plain)));
        (void)decrypt(end, end->inbox.len - 1);
        end->status = decrypt_into(end, end->inbox.len, sizeof(plain));
        end->status = end->status == PAL_OK ? encrypt(link, end, view_of(plain, sizeof(plain))) : end->status;
        if (end->status == PAL_OK && i > 0) {
            end->status = i == 1 ? take_pending(link, end) : control(link, end, control_update, 0);
        }
    }
    if (end->status == PAL_OK) {
        bytes_add(&end->inbox, "\x17\x03\x03\0\x11 seventeen bytes ", 5 + 17);
        end->status = decrypt(end, end->inbox.len);
        end->status = end->status == PAL_PROTOCOL || end->status == PAL_OK ? take_pending(link, end) : end->status;
    }
}

/* all_arrived: what was told of no refusal is all there, on both sides. The script's client has said more than it was
 * given: 4000 bytes instead of a record, and 4000 in front of the next one. */
static void all_arrived(struct link *link, struct end *end)
{
    struct end *other = peer_of(link, end);

    expect(decrypt(other, other->inbox.len), PAL_OK, "the other side");
    assert_int_equal(link->ends[0].plain.len, 60000);
    assert_int_equal(link->ends[1].plain.len, 60000 - SCRIPTED_PLAIN_MAX + 4000 + 4000);
}

static void refused_memory_is_told_and_nothing_is_lost(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * PAL_TLS_NUM_SHAPES; i++) {
        bool refused = true;

        for (size_t n = 1; refused; n++) {
            const struct scripted_step steps[] = {{SCRIPTED_WRITE, TLS_DONE, SCRIPTED_INSTEAD, 1, 23, 0, 0, 4000},
                                                  {SCRIPTED_WRITE, TLS_DONE, 0, 5, 23, 0, 0, 4000}};
            struct link link;
            struct end *end = &link.ends[i & 1];

            setup(&link, (int)(i >> 1), steps, 2);
            end->tls_ops->close(end->tls);
            end->tls = NULL;
            end->world.fail_at = n;
            end->status = end->tls_ops->open(end_env(end), &end->tls, &end->config);
            if (end->status == PAL_OK) {
                live(&link, end);
            }
            refused = end->world.refused;
            if (end->status != PAL_OK && (end->status != PAL_NO_MEMORY || !refused)) {
                fail_msg("%s, request %zu: %s", shape_names[i >> 1], n, pal_status_name(end->status));
            }
            if (end->status == PAL_OK) {
                all_arrived(&link, end);
            }
            link_close(&link);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_talks_to_itself_in_any_pieces),
        cmocka_unit_test(a_step_answers_with_its_bytes),
        cmocka_unit_test(a_failing_write_keeps_its_bytes_as_the_shape_does),
        cmocka_unit_test(chunks_change_no_byte),
        cmocka_unit_test(headers_that_no_record_has_are_refused),
        cmocka_unit_test(records_are_summed_and_numbered),
        cmocka_unit_test(records_that_mean_nothing_change_nothing),
        cmocka_unit_test(two_requests_for_keys_are_answered_once),
        cmocka_unit_test(a_handshake_hears_nothing_but_a_handshake),
        cmocka_unit_test(a_read_gives_what_its_step_says),
        cmocka_unit_test(plaintext_is_told_of_without_room),
        cmocka_unit_test(a_failure_stays),
        cmocka_unit_test(steps_beyond_the_tables_are_cut),
        cmocka_unit_test(input_inside_comes_before_input_of_the_call),
        cmocka_unit_test(input_inside_is_what_a_handshake_goes_on_with),
        cmocka_unit_test(an_identity_may_come_late),
        cmocka_unit_test(refused_memory_is_told_and_nothing_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
