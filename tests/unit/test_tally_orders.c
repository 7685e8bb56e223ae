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

static void write_row(int k)
{
    const uint64_t number = (uint64_t)k;
    const struct tally_row row = {
        .enter = 10 * number, .leave = 20 * number, .number = number, .index = number};
    tally_store(&row_memory, &row);
}

/* 0: no row, or one that is being written. */
static int read_row(void)
{
    struct tally_row copy = {.number = 0};
    const uint64_t k = ictusi_tally_read(&row_memory, &copy) ? copy.number : 0;
    const bool whole = copy.enter == 10 * k && copy.leave == 20 * k && copy.index == k;
    return k == 0 || whole ? (int)k : ORDERS_TORN;
}

int main(void)
{
    const struct orders rows = {&row_memory, write_row, read_row, WRITTEN};
    orders_judge(&rows, NO_WRITERS_FENCE);
    return check_result();
}
