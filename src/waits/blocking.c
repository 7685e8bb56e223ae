/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whether a send was blocked. It was if (a) it certainly returned after the receive was
 * posted; (b) it is a synchronous send, or larger than every message that certainly returned before
 * its receive was posted, and not a buffered send; and (c) it returned within the time that 99 of
 * 100 messages of its size take. If (a) holds but not all of the rest, blocking is possible. The
 * size up to which messages are sent at once differs within a node and between nodes. If no message
 * shows it, a call that only sends shows by returning late that it was blocked. A call that also
 * waits for others does not.
 */
#include "waits/blocking.h"

#include "waits/analysis.h"

#include <math.h>
#include <stdlib.h>

static const double certain = 1.96; /* standard deviations: 97.5 % on one side */

/*
 * The calls of a message: the one that sends it, the one that completes the send, the one that
 * posts the receive, and the one that completes it.
 */
struct transfer {
    const struct waiting_call *sent, *done, *posted, *got;
    uint32_t from, to; /* locations */
    int64_t size;
};

static bool transfer_of(const struct analysis *a, uint32_t send, uint32_t receive,
                        struct transfer *t)
{
    const uint32_t done = call_of_other(&a->calls, send);
    const uint32_t posted = call_of_other(&a->calls, receive);
    if (done == CALL_NONE || posted == CALL_NONE) {
        return false;
    }
    t->sent = call_at(&a->calls, call_of_point(&a->calls, send));
    t->done = call_at(&a->calls, done);
    t->posted = call_at(&a->calls, posted);
    t->got = call_at(&a->calls, call_of_point(&a->calls, receive));
    t->from = a->session.history.points.peer[receive];
    t->to = a->session.history.points.peer[send];
    t->size = a->session.history.points.note[send].bytes;
    return true;
}

static uint32_t blocking_node_of(const struct analysis *a, uint32_t location)
{
    const uint32_t process = a->session.trace->layout.locations[location].process;
    return process == LAYOUT_NONE ? 0 : a->session.trace->layout.processes[process].node;
}

/* floor(log2(size)). */
static int size_class(int64_t size)
{
    return size > 0 ? 64 - __builtin_clzll((unsigned long long)size) - 1 : 0;
}

/* The class of a time, in eighths of powers of two: floor(8 log2(ticks)). */
static int time_class(int64_t ticks)
{
    /* 2^(i/8) */
    static const double eighths[] = {1.0905077326652577, 1.189207115002721,  1.2968395546510096,
                                     1.4142135623730951, 1.5422108254079407, 1.681792830507429,
                                     1.8340080864093424};
    if (ticks <= 0) {
        return 0;
    }
    const int whole = 63 - __builtin_clzll((unsigned long long)ticks);
    const double part = (double)ticks / (double)(UINT64_C(1) << whole);
    int class = 8 * whole;
    for (size_t i = 0; i < sizeof eighths / sizeof *eighths; i++) {
        class += part >= eighths[i];
    }
    return class;
}

static double transfer_sigma(const struct analysis *a, const struct transfer *t)
{
    return ictusi_histories_sigma(&a->histories, t->from, t->done->leave, t->to, t->posted->enter);
}

/*
 * A receive that was posted before the completing call began, or after that call ended, cannot have
 * delayed the send.
 */
static bool transfer_overlaps(const struct transfer *t)
{
    return t->done->leave > t->posted->enter && t->posted->enter > t->done->enter;
}

/*
 * A message can be in transit only once both sides have reached it, so its time counts from the
 * later one.
 */
bool ictusi_blocking_learn(struct blocking *b, uint32_t send, uint32_t receive)
{
    const struct analysis *a = b->analysis;
    struct transfer t;
    if (!transfer_of(a, send, receive, &t) || t.from == t.to) {
        return false;
    }
    const int64_t late = t.posted->enter - t.done->leave;
    int64_t *most = &b->eager[blocking_node_of(a, t.from) == blocking_node_of(a, t.to)];
    if (late > 0 && t.size > *most && (double)late > certain * transfer_sigma(a, &t)) {
        *most = t.size;
    }
    const int64_t begin = t.sent->enter > t.posted->enter ? t.sent->enter : t.posted->enter;
    const int64_t took = t.got->leave - begin;
    b->transfers[size_class(t.size) * BLOCK_TIMES + time_class(took)]++;
    return transfer_overlaps(&t);
}

void ictusi_blocking_join(struct blocking *b, const struct blocking *other)
{
    for (int i = 0; i < 2; i++) {
        b->eager[i] = other->eager[i] > b->eager[i] ? other->eager[i] : b->eager[i];
    }
    for (size_t i = 0; i < (size_t)BLOCK_SIZES * BLOCK_TIMES; i++) {
        b->transfers[i] += other->transfers[i];
    }
}

/*
 * For each size, find the upper edge of the class below which 99 of 100 messages lie. The upper
 * edge is used because all times within the class may still be usual.
 */
void ictusi_blocking_end(struct blocking *b)
{
    for (size_t s = 0; s < BLOCK_SIZES; s++) {
        const uint32_t *times = &b->transfers[s * BLOCK_TIMES];
        uint64_t all = 0;
        uint64_t below = 0;
        for (int i = 0; i < BLOCK_TIMES; i++) {
            all += times[i];
        }
        for (int i = 0; i < BLOCK_TIMES && all > 0; i++) {
            below += times[i];
            if (below * 100 >= all * 99) {
                b->longest[s] = (int64_t)fmin(exp2((i + 1) / 8.0), 0x1p61);
                break;
            }
        }
    }
}

int ictusi_blocking_init(struct blocking *b, const struct analysis *a)
{
    *b = (struct blocking){.analysis = a, .eager = {-1, -1}};
    b->transfers = calloc((size_t)BLOCK_SIZES * BLOCK_TIMES, sizeof *b->transfers);
    return b->transfers ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

void ictusi_blocking_free(struct blocking *b)
{
    free(b->transfers);
}

enum block ictusi_blocking_judge(const struct blocking *b, uint32_t send, uint32_t receive)
{
    const struct analysis *a = b->analysis;
    struct transfer t;
    if (!transfer_of(a, send, receive, &t) || t.from == t.to) {
        return BLOCK_NOT;
    }
    const int64_t after = t.done->leave - t.posted->enter;
    if (!transfer_overlaps(&t)) {
        return BLOCK_NOT;
    }
    const uint8_t traits = ictusi_paths_traits(&a->paths, t.sent->path);
    if (traits & TRAIT_BUFFERED) {
        return BLOCK_NOT;
    }
    const bool synchronous = traits & TRAIT_SYNCHRONOUS;
    const bool alone = t.sent == t.done && !(traits & TRAIT_SENDRECV);
    const int64_t eager = b->eager[blocking_node_of(a, t.from) == blocking_node_of(a, t.to)];
    const bool shown = synchronous || (eager < 0 ? alone : t.size > eager);
    if (!shown) {
        return eager < 0 ? BLOCK_POSSIBLE : BLOCK_NOT;
    }
    const bool late = (double)after > certain * transfer_sigma(a, &t);
    const bool prompt = after <= b->longest[size_class(t.size)];
    return late && prompt ? BLOCK_CERTAIN : BLOCK_POSSIBLE;
}
