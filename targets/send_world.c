/* SPDX-License-Identifier: Apache-2.0
 * send_world.c: one thread, one socket, at most two operations at a time. Files change in length only: whether a port
 * binds their bytes at the call or when the peer reads is the kernel's affair, and a port may copy; so contents stay as
 * they are. What the wire should hold is worked out here from the list as it was at begin, without the port.
 */
#include "send_world.h"

#include "ports.h"
#include "troupe.h"

#include <assert.h>
#include <string.h>

#define DEADLINE_STEP_NS 1000000u
#define SEND_WORLDS_MAX (PAL_SEND_NUM_WAYS + 1) /* every way, and the plain one once more: somebody else's */

const char *const send_room_names[SEND_ROOMS] = {"0", "1", "2", "3", "5", "8", "17", "40", "100", "257", "1001", "all"};
static const uint64_t rooms[SEND_ROOMS] = {0, 1, 2, 3, 5, 8, 17, 40, 100, 257, 1001, TRANSPORT_NEVER};
const char *const send_failure_names[SEND_FAILURES] = {"reset",     "broken-pipe", "no-memory",
                                                       "timed-out", "system",      "would-block"};
static const enum pal_status failures[SEND_FAILURES] = {PAL_RESET,     PAL_BROKEN_PIPE, PAL_NO_MEMORY,
                                                        PAL_TIMED_OUT, PAL_SYSTEM,      PAL_WOULD_BLOCK};
const char *const send_no_yes[2] = {"no", "yes"};
const char *const send_bad_names[4] = {"no", "null", "overflow", "file"};
const char *const send_scribble_names[2] = {"no", "list"};

const struct pal_port *send_plain_port(void)
{
    return pal_port_reference();
}

static struct send_world *send_of(struct player *player)
{
    return (struct send_world *)player;
}

/* note: what the transport saw of this step. Adds, so that a call that was played again counts whole. */
static void note(struct send_world *world, struct trace_step *trace)
{
    const struct transport_audit *audit = &world->transport.audit;
    trace->facts[FACT_TAKEN] = (uint32_t)audit->taken;
    trace->facts[FACT_CALLS] = audit->calls;
    trace->facts[FACT_WAITS] = audit->waits;
    trace->facts[FACT_IDLE_CALLS] = audit->idle_calls;
    trace->facts[FACT_IDLE_WAITS] = audit->idle_waits;
    trace->facts[FACT_BAD_FLAGS] += audit->bad_flags;
    trace->facts[FACT_ALLOCATIONS] = world->player.world->env.allocations;
    for (size_t i = 0; i < SEND_SLOTS; i++) {
        trace->facts[FACT_LIST_CHANGED] += send_list_changes(&world->slots[i]);
    }
}

static void arm(struct send_world *world)
{
    world->player.world->env.fail_alloc = world->fail_alloc;
    world->fail_alloc = 0;
}

/* again: whether the fault that was armed fired and made the call fail, and not the socket; it is disarmed. */
static bool again(struct send_world *world, struct trace_step *trace, enum pal_status status)
{
    struct world_env *env = &world->player.world->env;
    bool fired = env->faulted;
    env->fail_alloc = 0;
    if (fired) {
        trace->facts[FACT_FAULTED] = 1;
        trace->facts[FACT_ATTEMPT_STATUS] = (uint32_t)status;
        world_env_step(env, world->player.cursor);
    }
    return fired && status == PAL_NO_MEMORY && !world->transport.audit.failed;
}

static void begin(struct send_world *world, const struct step *step, struct trace_step *trace)
{
    struct send_slot *slot = &world->slots[step->number[0]];
    const struct pal_env *env = &world->player.world->env.env;
    size_t bad = SIZE_MAX - 1;
    uint64_t deadline =
        step->number[2] > 0 ? world->transport.now_ns + step->number[2] * (uint64_t)DEADLINE_STEP_NS : UINT64_MAX;
    if (slot->open) {
        return;
    }
    memset(slot, 0, sizeof(*slot));
    slot->num_segments = world->num_segments;
    slot->given = send_copy_list(world, slot->num_segments);
    slot->kept = send_copy_list(world, slot->num_segments);
    trace->facts[FACT_SEND_KIND] = SEND_BEGIN;
    arm(world);
    for (int attempt = 0; attempt < 2; attempt++) {
        trace->status = world->ops->begin(env, &slot->send, &bad, (enum pal_send_way)world->player.world->spec->way,
                                          TRANSPORT_SOCKET, slot->given, slot->num_segments, deadline);
        if (!again(world, trace, trace->status)) {
            break;
        }
    }
    slot->open = trace->status == PAL_OK;
    trace->facts[FACT_BAD_SEGMENT] = bad == SIZE_MAX - 1 ? 0 : (uint32_t)(bad + 1);
    note(world, trace);
    if (slot->open && !send_sendable(world, slot)) {
        world->ops->end(slot->send);
        slot->open = false;
    }
    if (slot->open) {
        send_expect(world, slot);
        slot->turn = ++world->turns;
        slot->deadline_ns = deadline;
        slot->scribbled = step->number[1] != 0;
        slot->calls_due = send_calls_due(world, slot);
        if (slot->scribbled) {
            memset((void *)(uintptr_t)slot->given, 0x5a, slot->num_segments * sizeof(*slot->given));
        }
    }
    if (step->number[3] != 0) {
        send_drop_list(world);
    }
}

/* is_queued: an unfinished operation with bytes to send was begun before this one. */
static bool is_queued(const struct send_world *world, const struct send_slot *slot)
{
    const struct send_slot *other = &world->slots[slot == &world->slots[0] ? 1 : 0];
    return !slot->finished && !slot->empty && other->open && !other->finished && !other->empty &&
           other->turn < slot->turn;
}

static bool is_truncated(const struct send_world *world, const struct send_slot *slot)
{
    bool truncated = false;
    for (size_t f = 0; f < TRANSPORT_FILES; f++) {
        truncated |= slot->file_end[f] > world->transport.files[f].len;
    }
    return truncated;
}

/* class_of: `failed` when the socket did, or was set to, in this step. */
static enum send_class class_of(const struct send_world *world, const struct send_slot *slot, bool failed)
{
    if (slot->scribbled) {
        return SEND_CLASS_SNAPSHOT;
    }
    if (is_truncated(world, slot)) {
        return SEND_CLASS_TRUNCATED;
    }
    if (failed || world->transport.audit.lied) {
        return SEND_CLASS_FAILURE;
    }
    if (slot->sent > 0) {
        return SEND_CLASS_RETRY;
    }
    return slot->files ? SEND_CLASS_FILE : slot->empties ? SEND_CLASS_EMPTIES : SEND_CLASS_PLAIN;
}

/* check_wire: the bytes taken in this step are the list's next ones. */
static uint32_t check_wire(const struct send_world *world, const struct send_slot *slot, size_t before)
{
    uint32_t wrong = 0;
    size_t taken = world->transport.wire_len - before;
    if (taken == 0 || (slot->sent <= slot->expected_len && taken <= slot->expected_len - slot->sent &&
                       memcmp(world->transport.wire + before, slot->expected + slot->sent, taken) == 0)) {
        return 0;
    }
    for (size_t i = before; i < world->transport.wire_len; i++) {
        size_t at = slot->sent + (i - before);
        wrong += at >= slot->expected_len || world->transport.wire[i] != slot->expected[at] ? 1 : 0;
    }
    return wrong;
}

static void resume(struct send_world *world, const struct step *step, struct trace_step *trace)
{
    struct send_slot *slot = &world->slots[step->number[0]];
    size_t before = world->transport.wire_len;
    uint64_t progress = 0;
    bool was_lied = world->lied;
    bool was_finished = slot->finished;
    bool fresh = !slot->resumed;
    bool failed = world->transport.fail_at != TRANSPORT_NEVER;
    if (!slot->open) {
        return;
    }
    bool queued = is_queued(world, slot);
    bool late = world->transport.now_ns >= slot->deadline_ns;
    trace->facts[FACT_SEND_KIND] = queued ? SEND_QUEUED : SEND_RESUME;
    trace->facts[FACT_EXPECTED] = queued ? (late ? PAL_TIMED_OUT : PAL_WOULD_BLOCK) : 0;
    trace->role = ROLE_MESSAGE;
    arm(world);
    for (int attempt = 0; attempt < 2; attempt++) {
        uint64_t part = 0xbad;
        trace->status = world->ops->resume(slot->send, &part, step->number[1] != 0);
        progress += part;
        if (!again(world, trace, trace->status)) {
            break;
        }
    }
    world->lied |= world->transport.audit.lied;
    slot->resumed = true;
    note(world, trace);
    trace->facts[FACT_PROGRESS] = (uint32_t)progress;
    failed |= trace->status != PAL_OK && trace->status != PAL_WOULD_BLOCK;
    trace->facts[FACT_SEND_CLASS] = (uint32_t)class_of(world, slot, failed);
    trace->facts[FACT_LIED] = was_lied ? 2 : world->lied ? 1 : 0;
    trace->facts[FACT_WRONG_BYTES] = check_wire(world, slot, before);
    slot->sent += world->transport.wire_len - before;
    if (trace->status == PAL_OK && !world->lied && slot->sent < slot->expected_len) {
        trace->facts[FACT_WRONG_BYTES] += (uint32_t)(slot->expected_len - slot->sent);
    }
    slot->finished |= trace->status != PAL_WOULD_BLOCK && trace->status != PAL_NO_MEMORY;
    bool whole = trace->status == PAL_OK && !world->transport.audit.short_or_failed && fresh && !was_finished;
    trace->facts[FACT_CALLS_DUE] = whole && trace->facts[FACT_FAULTED] == 0 ? slot->calls_due : 0;
    trace->facts[FACT_BAD_FLAGS] += slot->sent == slot->expected_len && world->transport.audit.last_more ? 1 : 0;
}

static void cancel_or_end(struct send_world *world, const struct step *step, struct trace_step *trace)
{
    struct send_slot *slot = &world->slots[step->number[0]];
    if (!slot->open) {
        return;
    }
    if (step->op == SEND_OP_CANCEL) {
        world->ops->cancel(slot->send);
        slot->finished = true;
    } else {
        world->ops->end(slot->send);
        slot->open = false;
    }
    note(world, trace);
}

static void set_failure(struct send_world *world, const struct step *step)
{
    uint64_t after = rooms[step->number[0]];
    world->transport.fail_at = after == TRANSPORT_NEVER ? TRANSPORT_NEVER : world->transport.wire_len + after;
    world->transport.fail_status = failures[step->number[1]];
    world->transport.fail_once = step->number[2] != 0 || world->transport.fail_status == PAL_WOULD_BLOCK;
}

/* script: what a step does to the socket or the files. */
static void script(struct send_world *world, const struct step *step)
{
    struct transport *transport = &world->transport;
    switch (step->op) {
    case SEND_OP_SPACE:
        transport->space = rooms[step->number[0]];
        break;
    case SEND_OP_PER_CALL:
        transport->per_call = rooms[step->number[0]] == TRANSPORT_NEVER ? 0 : rooms[step->number[0]];
        break;
    case SEND_OP_IOV_MAX:
        transport->iov_max = step->number[0] > 0 ? step->number[0] : 1;
        break;
    case SEND_OP_FAIL:
        set_failure(world, step);
        break;
    case SEND_OP_LIE:
        transport->lies++;
        break;
    case SEND_OP_PEER:
        transport->drain = rooms[step->number[0]] == TRANSPORT_NEVER ? TRANSPORT_WIRE_MAX : rooms[step->number[0]];
        transport->spurious = step->number[1];
        transport->ready_at = rooms[step->number[2]] == TRANSPORT_NEVER ? 0 : rooms[step->number[2]];
        break;
    case SEND_OP_SHRINK:
        transport->files[step->number[0]].len = send_lens[step->number[1]];
        break;
    default:
        break;
    }
}

static bool play_step(struct player *player, const struct step *step, struct trace_step *trace)
{
    struct send_world *world = send_of(player);
    transport_step(&world->transport);
    switch (step->op) {
    case SEND_OP_BYTES:
        send_add_bytes(world, step);
        break;
    case SEND_OP_REPEAT:
        for (uint32_t i = 0; world->num_segments > 0 && i < step->number[0]; i++) {
            send_add(world, world->segments[world->num_segments - 1]);
        }
        break;
    case SEND_OP_BEGIN:
        begin(world, step, trace);
        break;
    case SEND_OP_RESUME:
        resume(world, step, trace);
        break;
    case SEND_OP_CANCEL:
    case SEND_OP_END:
        cancel_or_end(world, step, trace);
        break;
    case SEND_OP_FAIL_ALLOC:
        world->fail_alloc = step->number[0];
        break;
    case SEND_OP_FILE:
        send_add_file(world, step);
        break;
    default:
        script(world, step);
        break;
    }
    return true;
}

/* close: one more list through a socket that takes everything, so that every scenario ends with a comparison. What is
 * open is ended first. */
static void close(struct player *player)
{
    struct send_world *world = send_of(player);
    for (size_t i = 0; i < SEND_SLOTS; i++) {
        if (world->slots[i].open) {
            world->ops->end(world->slots[i].send);
            world->slots[i].open = false;
        }
    }
    size_t wire_len = world->transport.wire_len;
    world->transport.space = TRANSPORT_NEVER;
    world->transport.fail_at = TRANSPORT_NEVER;
    world->transport.per_call = 0;
    world->transport.lies = 0;
    world->transport.iov_max = 1024;
    world->fail_alloc = 0;
    world->lied = false;
    send_drop_list(world);
    const struct step bytes = {.op = SEND_OP_BYTES, .number = {0, 3, 0}, .len = {0}};
    const struct step begins = {.op = SEND_OP_BEGIN};
    const struct step resumes = {.op = SEND_OP_RESUME};
    send_add_bytes(world, &bytes);
    send_add_bytes(world, &bytes);
    transport_step(&world->transport);
    begin(world, &begins, player_step(player, SEND_OP_BEGIN));
    transport_step(&world->transport);
    struct trace_step *trace = player_step(player, SEND_OP_RESUME);
    resume(world, &resumes, trace);
    struct pal_view wire = {world->transport.wire + wire_len, world->transport.wire_len - wire_len};
    trace->out = arena_copy(&player->world->arena, wire); /* the judges look when `world` is gone */
    trace->out_len = trace->out.len;
    if (world->slots[0].open) {
        world->ops->end(world->slots[0].send);
        world->slots[0].open = false;
    }
}

static void end(struct player *player, struct trace_step *trace)
{
    trace->facts[FACT_LIVE_BLOCKS] = player->world->env.live_blocks;
}

bool send_adopt(struct pal_port *out, const struct pal_port *from)
{
    out->send = from->send;
    return from->send != NULL;
}

bool send_lacks(const struct pal_port *port, const struct world_spec *spec)
{
    static const uint8_t byte = 0;
    static uint8_t wire[TRANSPORT_WIRE_MAX];
    const struct pal_segment segment = {.bytes = {&byte, 1}, .file = -1};
    struct transport transport;
    struct world_env env;
    struct pal_send *send = NULL;
    size_t bad = 0;
    world_env_init(&env);
    transport_init(&transport, wire);
    world_env_connect(&env, &transport);
    enum pal_status status = port->send->begin(&env.env, &send, &bad, (enum pal_send_way)spec->way, TRANSPORT_SOCKET,
                                               &segment, 1, UINT64_MAX);
    if (status == PAL_OK) {
        port->send->end(send);
    }
    world_env_deinit(&env);
    return status == PAL_UNSUPPORTED;
}

void send_play(struct world worlds[], size_t num_worlds, struct actors *actors, const struct scenario *scenario)
{
    static const struct troupe_ops ops = {play_step, NULL, NULL, close, end};
    struct send_world plays[SEND_WORLDS_MAX];
    struct player *players[SEND_WORLDS_MAX];
    assert(num_worlds <= SEND_WORLDS_MAX);
    for (size_t i = 0; i < num_worlds; i++) {
        memset(&plays[i], 0, sizeof(plays[i]));
        plays[i].player.world = &worlds[i];
        plays[i].player.scenario = scenario;
        plays[i].ops = worlds[i].port->send;
        transport_init(&plays[i].transport, arena_take_undefined(&worlds[i].arena, TRANSPORT_WIRE_MAX));
        world_env_connect(&worlds[i].env, &plays[i].transport);
        players[i] = &plays[i].player;
    }
    troupe_play(players, num_worlds, actors, &ops);
}
