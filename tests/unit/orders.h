/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model of memory under every order that C11 allows, not only those of this processor. A store
 * appends a message to its place, together with what the writer makes known with it. A load takes
 * any message that is not older than what its thread knows of the place. All choices are tried, one
 * after the other.
 *
 * There is one writer, and a reader does not write. So everything that a reader can see while the
 * writer works can also be seen after the writer has ended, by taking older messages.
 *
 * Files that include this define ORDERS_PLACES, the number of words of the memory, and set
 * model.memory to them.
 */
#ifndef ICTUS_TESTS_UNIT_ORDERS_H
#define ICTUS_TESTS_UNIT_ORDERS_H

#include "../check.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    MESSAGES = 8, /* of one place, including the initial value */
    CHOICES = 256
};

/* The newest message of each place that a thread knows of. */
struct view {
    uint8_t newest[ORDERS_PLACES];
};

struct message {
    uint64_t value;
    struct view known; /* given to the thread that takes it */
};

struct thread_state {
    struct view now;
    struct view taken; /* by relaxed loads; known from the next acquire fence on */
    struct view given; /* at the last release fence; passed on by relaxed stores */
};

/* Parts that the model leaves out, to show that each of them is needed. */
enum weakness { WHOLE, NO_WRITERS_FENCE, NO_READERS_FENCE, NO_RELEASE, NO_ACQUIRE };

static struct {
    const void *memory; /* only its addresses are used */
    struct message messages[ORDERS_PLACES][MESSAGES];
    int count[ORDERS_PLACES];
    struct thread_state writer, reader;
    struct thread_state *at_work;
    enum weakness weakness;
    int choice[CHOICES], choices[CHOICES]; /* the choice taken, and the number of choices */
    int depth, known;
} model;

static void view_join(struct view *view, const struct view *more)
{
    for (int i = 0; i < ORDERS_PLACES; i++) {
        view->newest[i] = more->newest[i] > view->newest[i] ? more->newest[i] : view->newest[i];
    }
}

static int model_place(const volatile void *place)
{
    /* An underflow is out of range as well. */
    const size_t at = ((uintptr_t)place - (uintptr_t)model.memory) / 8;
    REQUIRE(at < (size_t)(ORDERS_PLACES));
    return (int)at;
}

/* Choose one of count; the next run makes another choice. */
static int model_choose(int count)
{
    if (count == 1) {
        return 0;
    }
    REQUIRE(model.depth < CHOICES);
    if (model.depth == model.known) {
        model.choice[model.known] = 0;
        model.choices[model.known++] = count;
    }
    return model.choice[model.depth++];
}

/* @return false if all runs have been made */
static bool model_next(void)
{
    model.depth = 0;
    while (model.known > 0 && model.choice[model.known - 1] + 1 == model.choices[model.known - 1]) {
        model.known--;
    }
    if (model.known > 0) {
        model.choice[model.known - 1]++;
    }
    memset(&model.reader, 0, sizeof(model.reader));
    return model.known > 0;
}

static uint64_t model_load(const volatile void *place, memory_order order)
{
    const int at = model_place(place);
    struct thread_state *t = model.at_work;
    const int oldest = t == &model.writer ? model.count[at] - 1 : t->now.newest[at];
    /*
     * Among messages with equal values the oldest represents all: it restricts later choices least.
     */
    int different[MESSAGES];
    int count = 0;
    for (int i = oldest; i < model.count[at]; i++) {
        int k = oldest;
        while (model.messages[at][k].value != model.messages[at][i].value) {
            k++;
        }
        if (k == i) {
            different[count++] = i;
        }
    }
    const int taken = different[model_choose(count)];
    const struct message *message = &model.messages[at][taken];
    t->now.newest[at] = (uint8_t)taken;
    view_join(&t->taken, &message->known);
    if (order == memory_order_acquire && model.weakness != NO_ACQUIRE) {
        view_join(&t->now, &message->known);
    }
    return message->value;
}

static void model_store(const volatile void *place, uint64_t value, memory_order order)
{
    const int at = model_place(place);
    struct thread_state *t = model.at_work;
    REQUIRE(t == &model.writer && model.count[at] < MESSAGES);
    const int made = model.count[at]++;
    const bool release = order == memory_order_release && model.weakness != NO_RELEASE;
    struct message *message = &model.messages[at][made];
    t->now.newest[at] = (uint8_t)made;
    message->value = value;
    message->known = release ? t->now : t->given;
    message->known.newest[at] = (uint8_t)made;
}

static inline void model_fence(memory_order order)
{
    struct thread_state *t = model.at_work;
    const enum weakness without = t == &model.writer ? NO_WRITERS_FENCE : NO_READERS_FENCE;
    if (model.weakness == without) {
        return;
    }
    if (order != memory_order_release) {
        view_join(&t->now, &t->taken);
    }
    if (order != memory_order_acquire) {
        t->given = t->now;
    }
}

/* The writer begins, in a memory to which nothing has been written yet. */
static void model_start(const void *memory, enum weakness weakness)
{
    memset(&model, 0, sizeof(model));
    model.memory = memory;
    model.weakness = weakness;
    for (int i = 0; i < ORDERS_PLACES; i++) {
        model.count[i] = 1;
    }
    model.at_work = &model.writer;
}

/* What a run of the reader shows: the number of what was written, 0 if nothing yet, or one of
 * these. */
enum { ORDERS_TORN = -1 /* parts of several */, ORDERS_LEFT = -2 /* a run that is not followed */ };

/* A writer, which writes a memory `written` times, and a reader of it. */
struct orders {
    const void *memory;
    void (*write)(int k); /* k: 1 and so on */
    int (*read)(void);
    int written;
};

/*
 * @return whether a run of the reader shows something torn; the search ends at the first one. What
 * the runs show is set in seen.
 */
static bool orders_tear(const struct orders *o, enum weakness weakness, bool *seen)
{
    int shown = 0;
    model_start(o->memory, weakness);
    for (int k = 1; k <= o->written; k++) {
        o->write(k);
    }
    model.at_work = &model.reader;
    do {
        shown = o->read();
        REQUIRE(shown <= o->written);
        if (shown >= 0) {
            seen[shown] = true;
        }
    } while (shown != ORDERS_TORN && model_next());
    return shown == ORDERS_TORN;
}

/*
 * No run shows something torn, and all that was written is seen. Each part from `needed` on, in the
 * order of enum weakness, is needed: without it some run shows something torn, or this test could
 * not fail.
 */
static void orders_judge(const struct orders *o, enum weakness needed)
{
    bool seen[MESSAGES] = {false};
    REQUIRE(o->written < MESSAGES);
    CHECK(!orders_tear(o, WHOLE, seen));
    for (int k = 0; k <= o->written; k++) {
        CHECK(seen[k]);
    }
    for (; needed <= NO_ACQUIRE; needed++) {
        CHECK(orders_tear(o, needed, seen));
    }
}

#endif
