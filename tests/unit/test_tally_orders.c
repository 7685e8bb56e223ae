/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A row of statistics, which ictus arrivals --follow reads while the program writes it, under every
 * memory order that C11 allows (orders.h). The tracer's own code runs, with its atomic operations
 * replaced.
 */
#define ORDERS_PLACES 4 /* the words of a row */
#include "orders.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

/* NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the compiler's names */
#define __atomic_load_n(place, order)                                                              \
    ((__typeof__(*(place)))model_load(place, (memory_order)(order)))
#define __atomic_store_n(place, value, order)                                                      \
    model_store(place, (uint64_t)(value), (memory_order)(order))
#define __atomic_thread_fence(order) model_fence((memory_order)(order))
/* NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier) */

/* NOLINTBEGIN(bugprone-suspicious-include): what readers and the writer do is looked at */
#include "tracer/tally.c"
/* NOLINTEND(bugprone-suspicious-include) */

enum { WRITTEN = 3 };
_Static_assert(sizeof(struct tally_row) == ORDERS_PLACES * sizeof(uint64_t), "the row's words");

static struct tally_row row_memory;

/*
 * @return the number of runs that end with words of different calls; the search ends at the first
 */
static int count_torn(enum weakness weakness, bool seen[WRITTEN + 1])
{
    int torn = 0;
    model_start(&row_memory, weakness);
    for (uint64_t k = 1; k <= WRITTEN; k++) {
        const struct tally_row row = {.enter = 10 * k, .leave = 20 * k, .number = k, .index = k};
        tally_store(&row_memory, &row);
    }
    model.at_work = &model.reader;
    do {
        struct tally_row copy = {.number = 0};
        const uint64_t k = ictusi_tally_read(&row_memory, &copy) ? copy.number : 0;
        if (k > 0) {
            torn += copy.enter != 10 * k || copy.leave != 20 * k || copy.index != k;
        }
        seen[k] = true;
    } while (torn == 0 && model_next());
    return torn;
}

int main(void)
{
    bool seen[WRITTEN + 1] = {false};
    CHECK(count_torn(WHOLE, seen) == 0);
    for (int k = 0; k <= WRITTEN; k++) {
        CHECK(seen[k]); /* 0: no row, or one that is being written */
    }
    /* Each part is needed; otherwise this test could not fail. */
    CHECK(count_torn(NO_WRITERS_FENCE, seen) > 0);
    CHECK(count_torn(NO_READERS_FENCE, seen) > 0);
    CHECK(count_torn(NO_RELEASE, seen) > 0);
    CHECK(count_torn(NO_ACQUIRE, seen) > 0);
    return check_result();
}
