/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A memory of words under every order that C11 allows, not only those of this processor: a store
 * adds a message to its place, with what the writer makes known with it; a load takes any message
 * that is not older than what its thread knows of the place. All choices are gone through, one
 * after the other.
 *
 * There is one writer, and a reader does not write. So all that a reader can meet while the writer
 * is at work it can also meet after the writer has ended, by taking older messages.
 *
 * Who includes it defines ORDERS_PLACES, the words of the memory, and sets model.memory to them.
 */
#ifndef ICTUS_TESTS_UNIT_ORDERS_H
#define ICTUS_TESTS_UNIT_ORDERS_H

#include "../check.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    MESSAGES = 8, /* of one place, the first value included */
    CHOICES = 256
};

/* The newest message of each place that somebody knows of. */
struct view {
    uint8_t newest[ORDERS_PLACES];
};

struct message {
    uint64_t value;
    struct view known; /* to whom takes it */
};

struct thread_state {
    struct view now;
    struct view taken; /* by relaxed loads: known from the next acquiring fence on */
    struct view given; /* at the last releasing fence: goes with relaxed stores */
};

/* What the model leaves out, to see that each of these is needed. */
enum weakness { WHOLE, NO_WRITERS_FENCE, NO_READERS_FENCE, NO_RELEASE, NO_ACQUIRE };

static struct {
    const void *memory; /* its addresses only */
    struct message messages[ORDERS_PLACES][MESSAGES];
    int count[ORDERS_PLACES];
    struct thread_state writer, reader;
    struct thread_state *at_work;
    enum weakness weakness;
    int choice[CHOICES], choices[CHOICES]; /* taken, of how many */
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
    /* Underflow is out of range as well. */
    const size_t at = ((uintptr_t)place - (uintptr_t)model.memory) / 8;
    REQUIRE(at < (size_t)(ORDERS_PLACES));
    return (int)at;
}

/* One of count: the next way through is another one. */
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

/* @return false: all ways have been gone */
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
    /* Of messages with one value the oldest stands for all: it forbids least of what may follow. */
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

static void model_fence(memory_order order)
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

/* The writer begins, in a memory where nothing was ever written. */
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

#endif
