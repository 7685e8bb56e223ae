/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock page under every order of memory that C11 allows, not only those of this processor. The
 * page's own code runs with its atomic operations replaced: a store adds a message to its place,
 * with what the writer makes known with it; a load takes any message that is not older than what
 * its thread knows of the place. All choices are gone through, one after the other.
 *
 * There is one writer, and a reader does not write. So all that a reader can meet while the writer
 * is at work it can also meet after the writer has ended, by taking older messages.
 */
#include "../check.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_thread_fence
/* NOLINTBEGIN(readability-identifier-naming): the C library's names */
#define atomic_load_explicit(place, order) model_load(place, order)
#define atomic_store_explicit(place, value, order) model_store(place, value, order)
#define atomic_thread_fence(order) model_fence(order)
/* NOLINTEND(readability-identifier-naming) */

static uint64_t model_load(const _Atomic uint64_t *place, memory_order order);
static void model_store(const _Atomic uint64_t *place, uint64_t value, memory_order order);
static void model_fence(memory_order order);

/* NOLINTBEGIN(bugprone-suspicious-include): their static functions are what is looked at */
#include "page/page.c"
#include "page/reader.c"
/* NOLINTEND(bugprone-suspicious-include) */

enum {
    PLACES = offsetof(struct page, status_turn) / 8, /* words of the page */
    MESSAGES = 5,                                    /* of one place, the first value included */
    CHOICES = 256,
    PUBLISHED = 3 /* so that one slot is written again */
};

/* The newest message of each place that somebody knows of. */
struct view {
    uint8_t newest[PLACES];
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
    struct page page; /* its addresses only */
    struct message messages[PLACES][MESSAGES];
    int count[PLACES];
    struct thread_state writer, reader;
    struct thread_state *at_work;
    enum weakness weakness;
    int choice[CHOICES], choices[CHOICES]; /* taken, of how many */
    int depth, known;
} model;

static void view_join(struct view *view, const struct view *more)
{
    for (int i = 0; i < PLACES; i++) {
        view->newest[i] = more->newest[i] > view->newest[i] ? more->newest[i] : view->newest[i];
    }
}

static int model_place(const _Atomic uint64_t *place)
{
    const size_t at =
        ((uintptr_t)place - (uintptr_t)&model.page) / 8; /* underflow is out of range as well */
    REQUIRE(at < PLACES);
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

static uint64_t model_load(const _Atomic uint64_t *place, memory_order order)
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

static void model_store(const _Atomic uint64_t *place, uint64_t value, memory_order order)
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

static void model_start(enum weakness weakness)
{
    memset(&model, 0, sizeof(model));
    model.weakness = weakness;
    for (int i = 0; i < PLACES; i++) {
        model.count[i] = 1; /* nothing was ever written there */
    }
    model.at_work = &model.writer;
}

/*
 * @return how many ways end with words of different slots, or with an older slot the second time;
 * the first is enough
 */
static int count_torn(enum weakness weakness, bool seen[PUBLISHED + 1])
{
    int torn = 0;
    model_start(weakness);
    for (uint64_t k = 1; k <= PUBLISHED; k++) {
        const uint64_t words[2] = {k, k};
        page_turn(&model.page.clock_turn, &model.page.clock[0][0], 2, words, sizeof(words));
    }
    model.at_work = &model.reader;
    do {
        uint64_t words[2][2] = {{0, 0}, {0, 0}};
        for (int i = 0; i < 2; i++) {
            if (!copy_slot(&model.page.clock_turn, &model.page.clock[0][0], 2, words[i])) {
                words[i][0] = words[i][1] = 0; /* not yet written */
            }
        }
        const bool whole = words[0][0] == words[0][1] && words[1][0] == words[1][1];
        torn += !whole || words[1][0] < words[0][0];
        if (whole) {
            seen[words[0][0]] = true;
        }
    } while (torn == 0 && model_next());
    return torn;
}

static void copies_are_whole(void)
{
    bool seen[PUBLISHED + 1] = {false};
    CHECK(count_torn(WHOLE, seen) == 0);
    for (int k = 0; k <= PUBLISHED; k++) {
        CHECK(seen[k]);
    }
    /* Nothing in it is there for nothing: else this test could not fail. */
    CHECK(count_torn(NO_WRITERS_FENCE, seen) > 0);
    CHECK(count_torn(NO_READERS_FENCE, seen) > 0);
    CHECK(count_torn(NO_RELEASE, seen) > 0);
    CHECK(count_torn(NO_ACQUIRE, seen) > 0);
}

static void publish_clock(int k)
{
    struct page_writer writer = {.fd = -1, .guard = -1, .page = &model.page};
    const struct page_clock clock = {.anchor = 1000,
                                     .value = (int64_t)k * ICTUS_NS_PER_S,
                                     .pp_ns2 = 100.0 * k * k,
                                     .bound_ns = 1000.0 * k,
                                     .good_until = ICTUS_NS_PER_S,
                                     .state = ICTUS_LOCK_LOCKED,
                                     .epoch = k};
    ictusi_page_publish(&writer, &clock);
}

/* A reading belongs to one clock as a whole. @return 0: to none, as there was none yet; -1: torn */
static int reading_clock(int code, const struct ictus_lock_reading *reading)
{
    if (code != ICTUS_OK) {
        return code == ICTUS_ERR_SAMPLES ? 0 : -1;
    }
    const int k = (int)reading->epoch;
    const bool whole =
        k >= 1 && k <= PUBLISHED && reading->time.ns == (int64_t)k * ICTUS_NS_PER_S + 5 &&
        fabs(reading->bound_ns - 1000.0 * k) < 1.0 && fabs(reading->sigma_ns - 10.0 * k) < 1.0 &&
        reading->state == ICTUS_LOCK_LOCKED;
    return whole ? k : -1;
}

static int count_torn_readings(enum weakness weakness, bool seen[PUBLISHED + 1])
{
    int torn = 0;
    model_start(weakness);
    for (int k = 1; k <= PUBLISHED; k++) {
        publish_clock(k);
    }
    model.at_work = &model.reader;
    const struct ictus_lock lock = {.page = &model.page, .fd = -1};
    do {
        struct ictus_lock_reading reading;
        const int code = ictus_lock_map(&lock, (struct ictus_time){1005}, &reading);
        const int k = reading_clock(code, &reading);
        torn += k < 0;
        if (k >= 0) {
            seen[k] = true;
        }
    } while (torn == 0 && model_next());
    return torn;
}

static void readings_are_whole(void)
{
    bool seen[PUBLISHED + 1] = {false};
    CHECK(count_torn_readings(WHOLE, seen) == 0);
    for (int k = 0; k <= PUBLISHED; k++) {
        CHECK(seen[k]);
    }
    CHECK(count_torn_readings(NO_WRITERS_FENCE, seen) > 0);
    CHECK(count_torn_readings(NO_READERS_FENCE, seen) > 0);
    CHECK(count_torn_readings(NO_RELEASE, seen) > 0);
    CHECK(count_torn_readings(NO_ACQUIRE, seen) > 0);
}

int main(void)
{
    copies_are_whole();
    readings_are_whole();
    return check_result();
}
