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
            link_close(&link);
        }
    }
}

static void a_step_answers_with_its_bytes(void **state)
{
    static const struct {
        enum tls_event event;
        enum pal_status status;
    } cases[] = {{TLS_WANT_READ, PAL_NEED_INPUT},      {TLS_WANT_CREDENTIALS, PAL_NEED_CREDENTIALS},
                 {TLS_RENEGOTIATING, PAL_RENEGOTIATE}, {TLS_CLOSED, PAL_CLOSED},
                 {TLS_FAILED, PAL_PROTOCOL},           {TLS_NO_MEMORY, PAL_NO_MEMORY},
                 {TLS_NO_RANDOM, PAL_NO_RANDOM},       {TLS_BROKEN, PAL_ENGINE}};

    (void)state;
    for (size_t i = 0; i < PAL_TLS_NUM_SHAPES * sizeof(cases) / sizeof(cases[0]); i++) {
        int shape = (int)(i % PAL_TLS_NUM_SHAPES);
        enum tls_event event = cases[i / PAL_TLS_NUM_SHAPES].event;
        enum pal_status want = cases[i / PAL_TLS_NUM_SHAPES].status;
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
    const struct scripted_step step = {SCRIPTED_WRITE, TLS_FAILED, SCRIPTED_INSTEAD | SCRIPTED_RAW, 2, 0, 0, 0, 60};

    (void)state;
    for (int shape = 0; shape < PAL_TLS_NUM_SHAPES; shape++) {
        struct link link;
        size_t before;

        setup(&link, shape, &step, 1);
        shake_well(&link);
        before = link.ends[0].wire.len;
        expect(encrypt(&link, &link.ends[0], text("lost")), PAL_PROTOCOL, "encrypt");
        assert_int_equal(link.ends[0].wire.len - before, shape == PAL_TLS_PENDING ? 60 : 0);
        expect(take_pending(&link, &link.ends[0]), PAL_OK, "take_pending");
        assert_int_equal(link.ends[0].wire.len - before, 60);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_talks_to_itself_in_any_pieces),
        cmocka_unit_test(a_step_answers_with_its_bytes),
        cmocka_unit_test(a_failing_write_keeps_its_bytes_as_the_shape_does),
        cmocka_unit_test(chunks_change_no_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
