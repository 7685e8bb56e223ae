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

static void publish_words(int k)
{
    const uint64_t words[2] = {(uint64_t)k, (uint64_t)k};
    page_turn(&page_memory.clock_turn, &page_memory.clock[0][0], 2, words, sizeof(words));
}

/* Words of different slots, or of an older slot the second time, are torn. */
static int copied_words(void)
{
    uint64_t words[2][2] = {{0, 0}, {0, 0}};
    for (int i = 0; i < 2; i++) {
        if (!reader_copy_slot(&page_memory.clock_turn, &page_memory.clock[0][0], 2, words[i])) {
            words[i][0] = words[i][1] = 0; /* not written yet */
        }
    }
    const bool whole = words[0][0] == words[0][1] && words[1][0] == words[1][1];
    return whole && words[1][0] >= words[0][0] ? (int)words[0][0] : ORDERS_TORN;
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

/* A reading belongs entirely to one clock. @return 0 if there was none yet */
static int reading_clock(int code, const struct ictus_lock_reading *reading)
{
    if (code != ICTUS_OK) {
        return code == ICTUS_ERR_SAMPLES ? 0 : ORDERS_TORN;
    }
    const int k = (int)reading->epoch;
    const bool whole =
        k >= 1 && k <= PUBLISHED && reading->time.ns == (int64_t)k * ICTUS_NS_PER_S + 5 &&
        fabs(reading->bound_ns - 1000.0 * k) < 1.0 && fabs(reading->sigma_ns - 10.0 * k) < 1.0 &&
        reading->state == ICTUS_LOCK_LOCKED;
    return whole ? k : ORDERS_TORN;
}

static int mapped_clock(void)
{
    const struct ictus_lock lock = {.page = &page_memory, .fd = -1};
    struct ictus_lock_reading reading;
    const int code = ictus_lock_map(&lock, (struct ictus_time){1005}, &reading);
    return reading_clock(code, &reading);
}

int main(void)
{
    const struct orders copies = {&page_memory, publish_words, copied_words, PUBLISHED};
    const struct orders readings = {&page_memory, publish_clock, mapped_clock, PUBLISHED};
    orders_judge(&copies, NO_WRITERS_FENCE);
    orders_judge(&readings, NO_WRITERS_FENCE);
    return check_result();
}
