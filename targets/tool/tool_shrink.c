/* SPDX-License-Identifier: Apache-2.0
 * tool_shrink.c: the smallest scenario that breaks the same rule as the input, or ends the process in the same way. The
 * input is saved first, every candidate is played in a child, and the result is played again before it is believed.
 */
#include "hint.h"
#include "kept.h"
#include "shrink_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_OUT = 'o', KEY_SECONDS = 's' };

#define SECONDS_DEFAULT 60u
#define SECONDS_MAX 86400u
#define SECONDS_PER_PLAY 5u
#define PROOF_PLAYS 5u
#define COPIES_MAX 100u

struct options {
    struct inputs_options inputs;
    const char *out;
    unsigned seconds;
};

/* session: `wanted` is how the input ended. */
struct session {
    struct guard guard;
    struct guard_answer wanted;
    struct guard_answer answer;
    double started;
    double seconds;
    double next_progress; /* 0: no terminal */
    struct shrink shrink;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    interrupted = signal_number;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_OUT:
        options->out = argument;
        return 0;
    case KEY_SECONDS:
        options->seconds = (unsigned)tool_number(state, "--seconds", argument, 1, SECONDS_MAX);
        return 0;
    default:
        return inputs_parse(key, argument, &options->inputs);
    }
}

static bool is_over(void *context)
{
    const struct session *session = context;
    return interrupted != 0 || tool_now() - session->started > session->seconds;
}

static bool shows(void *context, const struct scenario *candidate)
{
    struct session *session = context;
    guard_play(&session->guard, candidate, &session->answer);
    if (session->next_progress > 0 && tool_now() >= session->next_progress) {
        (void)fprintf(stderr, "\rshrink: %zu steps, %zu bytes, %" PRIu64 " plays, %.0f s ",
                      session->shrink.best.num_steps, shrink_num_bytes(&session->shrink.best),
                      session->shrink.num_tried, tool_now() - session->started);
        session->next_progress = tool_now() + 0.2;
    }
    return guard_same(&session->answer, &session->wanted);
}

/* ---- files ---------------------------------------------------------------------------------------------------------
 */

static bool holds(const char *path, const struct input *input)
{
    uint8_t *data = NULL;
    size_t len = 0;
    bool same = access(path, F_OK) == 0 && harness_read(path, &data, &len) && len == input->len &&
                memcmp(data, input->data, len) == 0;
    free(data);
    return same;
}

/* save_original: the input as it is, as NAME.orig in the output's folder, or with a number behind when another input
 * has that name. Nothing is overwritten. */
static bool save_original(char path[4096], const char *out, const struct input *input)
{
    const char *name = strrchr(input->path, '/') != NULL ? strrchr(input->path, '/') + 1 : input->path;
    const char *slash = strrchr(out, '/');
    for (unsigned copy = 1; copy <= COPIES_MAX; copy++) {
        char number[16] = "";
        if (copy > 1) {
            (void)snprintf(number, sizeof(number), ".%u", copy);
        }
        (void)snprintf(path, 4096, "%.*s%s.orig%s", slash != NULL ? (int)(slash - out) + 1 : 0, out, name, number);
        int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0 && errno == EEXIST) {
            if (holds(path, input)) {
                return true;
            }
            continue;
        }
        bool good = file >= 0 && write(file, input->data, input->len) == (ssize_t)input->len;
        good = file >= 0 && close(file) == 0 && good;
        if (!good) {
            (void)fprintf(stderr, "paldiff: the original cannot be saved as %s: %s; name another place with -o\n", path,
                          strerror(errno));
        }
        return good;
    }
    (void)fprintf(stderr, "paldiff: there are %u copies of other originals beside %s\n", COPIES_MAX, out);
    return false;
}

/* ---- the command ---------------------------------------------------------------------------------------------------
 */

/* is_proven: what is written, as it will be read, several times in one child and once in a new one. */
static bool is_proven(struct session *session)
{
    struct scenario *again = &session->shrink.candidate;
    char error[SCENARIO_ERROR_MAX];
    uint64_t hash = 0;
    char *text = kept_text(&session->shrink.best);
    bool good = text != NULL && scenario_parse(again, session->guard.target->language,
                                               (struct pal_view){(const uint8_t *)text, strlen(text)}, error);
    free(text);
    /* A hang is waited for each time. */
    size_t num_plays = session->wanted.end == GUARD_LATE ? 1 : PROOF_PLAYS;
    for (size_t i = 0; good && i <= num_plays; i++) {
        if (i == num_plays) {
            (void)guard_deinit(&session->guard);
        }
        guard_play(&session->guard, again, &session->answer);
        good = guard_same(&session->answer, &session->wanted) && (i == 0 || session->answer.hash == hash);
        hash = session->answer.hash;
    }
    return good;
}

static void print_keep(const struct options *options, const struct input *input, const char *path,
                       const struct guard_answer *answer)
{
    char command[HINT_MAX];
    char as[128];
    const char *name = answer->end == GUARD_RULE ? rules[answer->rule].name : "process-ended";
    (void)snprintf(as, sizeof(as), "--as %s", name);
    const char *mutant = inputs_mutant(&options->inputs, input->target);
    (void)printf("  show: %s\n", hint_command(command, "show", mutant, NULL, path, NULL));
    (void)printf("  keep: %s\n", hint_command(command, "keep", mutant, NULL, path, as));
}

/* shrink_and_write: what was broken is; the exit code says so. */
static int shrink_and_write(struct session *session, const struct options *options, const struct input *input,
                            const char *out)
{
    char original[4096];
    char text[GUARD_TEXT_MAX];
    struct kept kept;
    const struct shrink *shrink = &session->shrink;
    if (!save_original(original, out, input)) {
        return EXIT_SUITE;
    }
    bool whole = shrink_run(&session->shrink);
    if (session->next_progress > 0) {
        (void)fputs("\r\033[K", stderr);
    }
    double seconds = tool_now() - session->started;
    if (!is_proven(session)) {
        (void)fprintf(stderr,
                      "paldiff: the result does not show %s every time; nothing is written; the original is %s\n",
                      guard_describe(text, &session->wanted), hint_path(original));
        return EXIT_SUITE;
    }
    kept_read(&kept, (struct pal_view){input->data, input->len});
    kept_fill(&kept, input, session->guard.mutant, &session->answer);
    if (!kept_write(out, &kept, &shrink->best, true)) {
        return EXIT_SUITE;
    }
    (void)printf("%s\n  shrunk: steps %zu -> %zu, bytes %zu -> %zu, %" PRIu64 " plays, %.1f s%s\n",
                 guard_describe(text, &session->answer), input->scenario.num_steps, shrink->best.num_steps,
                 shrink_num_bytes(&input->scenario), shrink_num_bytes(&shrink->best), shrink->num_tried, seconds,
                 whole ? "" : "; stopped before it could not get smaller");
    (void)printf("  original: %s\n  written: %s\n\n", hint_path(original), hint_path(out));
    scenario_print(&shrink->best, stdout);
    (void)putchar('\n');
    print_keep(options, input, out, &session->answer);
    return EXIT_BROKEN;
}

static int shrink_input(const struct options *options, const struct input *input)
{
    char out[4096];
    char command[HINT_MAX];
    struct session *session = calloc(1, sizeof(*session));
    const char *mutant = inputs_mutant(&options->inputs, input->target);
    int result = EXIT_SUITE;
    if (session == NULL) {
        return EXIT_SUITE;
    }
    (void)snprintf(out, sizeof(out), "%s%s", options->out != NULL ? options->out : input->path,
                   options->out != NULL ? "" : ".min.txt");
    guard_init(&session->guard, input->target, mutant, SECONDS_PER_PLAY);
    session->guard.quiet = true;
    session->started = tool_now();
    session->seconds = options->seconds;
    session->next_progress = isatty(STDERR_FILENO) == 1 ? session->started : 0;
    session->shrink = (struct shrink){.shows = shows, .is_over = is_over, .context = session, .best = input->scenario};
    guard_play(&session->guard, &input->scenario, &session->wanted);
    switch (session->wanted.end) {
    case GUARD_HELD:
        (void)fprintf(stderr, "paldiff: %s breaks no rule in this build%s: there is nothing to keep while shrinking\n",
                      input->path, mutant != NULL ? "" : " and without a mutant");
        (void)fprintf(
            stderr, "  replay: %s\n",
            hint_command(command, "replay", mutant, inputs_target_hint(&options->inputs, input), input->path, NULL));
        result = EXIT_HELD;
        break;
    case GUARD_FAILED:
        (void)fprintf(stderr, "paldiff: %s\n", session->wanted.text);
        break;
    case GUARD_RULE:
    case GUARD_CRASHED:
    case GUARD_LATE:
        result = shrink_and_write(session, options, input, out);
        break;
    }
    (void)guard_deinit(&session->guard);
    free(session);
    return result;
}

int tool_shrink(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        INPUTS_ROWS,
        {NULL, KEY_OUT, "FILE", 0, "where the result goes (FILE.min.txt beside the input)", 0},
        {"seconds", KEY_SECONDS, "N", 0, "the best until then is the result (60)", 0},
        {0}};
    static const struct argp argp = {
        .options = rows,
        .parser = parse,
        .args_doc = "FILE",
        .doc =
            "Makes an input as small as it gets while it breaks the same rule. The input stays as it is, and is copied "
            "to FILE.orig first. Example: paldiff shrink --mutant send_drop_tail_on_short FILE"};
    static struct input input;
    struct options options = {.seconds = SECONDS_DEFAULT};
    struct sigaction action = {.sa_handler = on_interrupt};
    int at = tool_parse(&argp, argc, argv, &options);
    if (at != argc - 1) {
        return tool_usage("shrink takes one file");
    }
    (void)sigaction(SIGINT, &action, NULL);
    int result = input_read(&input, &options.inputs, argv[at]);
    result = result == EXIT_HELD ? shrink_input(&options, &input) : result;
    input_deinit(&input);
    return result;
}
