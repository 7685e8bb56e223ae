/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock that libictus-wtime shows, read by one thread while another one synchronises it again,
 * under every memory order that C11 allows (orders.h). The library's own code runs, with its atomic
 * operations replaced. They are sequentially consistent there; here they are no more than release
 * and acquire, which is all that a sequence lock needs.
 */
#define ORDERS_PLACES 4 /* the words of what is shown */
#include "orders.h"

#include <setjmp.h>

#undef atomic_load
#undef atomic_store
#undef atomic_fetch_add
/* Words of what is shown; all others are of this program. */
#define IS_SHOWN(place)                                                                            \
    ((uintptr_t)(place) - (uintptr_t)model.memory < 8 * (uintptr_t)(ORDERS_PLACES))
/* NOLINTBEGIN(readability-identifier-naming): the C library's names */
#define atomic_load(place)                                                                         \
    __extension__({                                                                                \
        __auto_type loaded = atomic_load_explicit(place, memory_order_relaxed);                    \
        IS_SHOWN(place) ? (__typeof__(loaded))orders_load(place) : loaded;                         \
    })
#define atomic_store(place, value)                                                                 \
    __extension__({                                                                                \
        if (IS_SHOWN(place)) {                                                                     \
            model_store(place, (uint64_t)(value), memory_order_release);                           \
        } else {                                                                                   \
            atomic_store_explicit(place, value, memory_order_release);                             \
        }                                                                                          \
    })
#define atomic_fetch_add(place, value)                                                             \
    model_store(place, model_load(place, memory_order_acquire) + (value), memory_order_release)
/* NOLINTEND(readability-identifier-naming) */

/* A reading that begins again for the third time is as good as its first: it is not followed. */
enum { SHOWN = 2, LOADS = 1 + 2 * 5 };

static jmp_buf endless;
static int loads;

static uint64_t orders_load(const volatile void *place)
{
    if (++loads > LOADS) {
        longjmp(endless, 1);
    }
    return model_load(place, memory_order_acquire);
}

/* NOLINTBEGIN(bugprone-suspicious-include): what the reader and the writer do is looked at */
#include "../../preload/wtime.c"
/* NOLINTEND(bugprone-suspicious-include) */
_Static_assert(sizeof(struct shown) == ORDERS_PLACES * sizeof(uint64_t), "the words");

static int64_t local_ns;

struct ictus_time __wrap_ictus_clock_local(const struct ictus_clock *clock);
struct ictus_time __wrap_ictus_clock_map(const struct ictus_clock *clock, struct ictus_time local);

struct ictus_time __wrap_ictus_clock_local(const struct ictus_clock *clock)
{
    (void)clock;
    return (struct ictus_time){local_ns};
}

/* The k-th clock is a million k at 100 k, and goes by 1 + k. */
struct ictus_time __wrap_ictus_clock_map(const struct ictus_clock *clock, struct ictus_time local)
{
    (void)clock;
    const int64_t k = local_ns / 100;
    return (struct ictus_time){1000000 * k + (1 + k) * (local.ns - local_ns)};
}

/* Which clock shows this at 5000. */
static int clock_of(int64_t now)
{
    for (int k = 0; k <= SHOWN; k++) {
        if (now == 1000000 * k + (1 + k) * (5000 - 100 * k)) {
            return k;
        }
    }
    return ORDERS_TORN;
}

static void show(int k)
{
    local_ns = 100 * k;
    show_clock(NULL);
}

static int reading_clock(void)
{
    loads = 0;
    local_ns = 5000;
    return setjmp(endless) ? ORDERS_LEFT : clock_of(global_now(NULL));
}

/* Fences have no part in this. */
int main(void)
{
    const struct orders clocks = {&shown, show, reading_clock, SHOWN};
    orders_judge(&clocks, NO_RELEASE);
    return check_result();
}
