/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock page under every memory order that C11 allows (orders.h). The page's own code runs,
 * with its atomic operations replaced.
 */
#include "page/page.h"

#define ORDERS_PLACES (int)(offsetof(struct page, status_turn) / 8)
#include "orders.h"

#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_thread_fence
/* NOLINTBEGIN(readability-identifier-naming): the C library's names */
#define atomic_load_explicit(place, order) model_load(place, order)
#define atomic_store_explicit(place, value, order) model_store(place, value, order)
#define atomic_thread_fence(order) model_fence(order)
/* NOLINTEND(readability-identifier-naming) */

/* NOLINTBEGIN(bugprone-suspicious-include): their static functions are what is looked at */
#include "page/page.c"
#include "page/reader.c"
/* NOLINTEND(bugprone-suspicious-include) */

enum { PUBLISHED = 3 }; /* so that one slot is written again */

static struct page page_memory;

/*
 * @return the number of runs that end with words of different slots, or with an older slot the
 * second time; the search ends at the first one
 */
static int count_torn(enum weakness weakness, bool seen[PUBLISHED + 1])
{
    int torn = 0;
    model_start(&page_memory, weakness);
    for (uint64_t k = 1; k <= PUBLISHED; k++) {
        const uint64_t words[2] = {k, k};
        page_turn(&page_memory.clock_turn, &page_memory.clock[0][0], 2, words, sizeof(words));
    }
    model.at_work = &model.reader;
    do {
        uint64_t words[2][2] = {{0, 0}, {0, 0}};
        for (int i = 0; i < 2; i++) {
            if (!reader_copy_slot(&page_memory.clock_turn, &page_memory.clock[0][0], 2, words[i])) {
                words[i][0] = words[i][1] = 0; /* not written yet */
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
    /* Each part is needed; otherwise this test could not fail. */
    CHECK(count_torn(NO_WRITERS_FENCE, seen) > 0);
    CHECK(count_torn(NO_READERS_FENCE, seen) > 0);
    CHECK(count_torn(NO_RELEASE, seen) > 0);
    CHECK(count_torn(NO_ACQUIRE, seen) > 0);
}

static void publish_clock(int k)
{
    struct page_writer writer = {.fd = -1, .guard = -1, .page = &page_memory};
    const struct page_clock clock = {.anchor = 1000,
                                     .value = (int64_t)k * ICTUS_NS_PER_S,
                                     .pp_ns2 = 100.0 * k * k,
                                     .bound_ns = 1000.0 * k,
                                     .good_until = ICTUS_NS_PER_S,
                                     .state = ICTUS_LOCK_LOCKED,
                                     .epoch = k};
    ictusi_page_publish(&writer, &clock);
}

/* A reading belongs entirely to one clock. @return 0 if there was none yet; -1: torn */
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
    model_start(&page_memory, weakness);
    for (int k = 1; k <= PUBLISHED; k++) {
        publish_clock(k);
    }
    model.at_work = &model.reader;
    const struct ictus_lock lock = {.page = &page_memory, .fd = -1};
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
