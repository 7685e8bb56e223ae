/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ClockBound's segment while it is written: a reader of any word sees that it must read again. The
 * daemon's own code runs, with its copying replaced, which stands between the first word and the
 * last.
 */
#include "../check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static void *copy_seen(void *to, const void *from, size_t bytes);

/* NOLINTBEGIN(readability-identifier-naming): the library's name */
#define memcpy(to, from, bytes) copy_seen(to, from, bytes)
/* NOLINTEND(readability-identifier-naming) */
/* NOLINTBEGIN(bugprone-suspicious-include): what the daemon writes is looked at */
#include "lock/clockbound.c"
/* NOLINTEND(bugprone-suspicious-include) */
#undef memcpy

static struct clockbound_segment segment;
static int seen;
static unsigned generation_seen;

static void *copy_seen(void *to, const void *from, size_t bytes)
{
    seen++;
    generation_seen = segment.generation;
    return memmove(to, from, bytes);
}

/* From one generation to the next. */
static void generation_goes(unsigned before, unsigned within, unsigned after)
{
    struct clockbound bound = {.fd = -1, .segment = &segment};
    segment.generation = (uint16_t)before;
    seen = 0;
    ictusi_clockbound_tell(&bound, CLOCKBOUND_SYNCHRONIZED, 1000.0, 50.0);
    CHECK(seen == 1 && generation_seen == within && segment.generation == after);
    CHECK(segment.magic[0] == magic[0] && segment.magic[1] == magic[1]);
}

int main(void)
{
    generation_goes(0, 1, 2);
    generation_goes(2, 3, 4);
    generation_goes(51, 51, 52); /* left by a daemon that died meanwhile */
    generation_goes(65534, 65535, 2);
    struct clockbound none = {.fd = -1, .segment = NULL};
    ictusi_clockbound_tell(&none, CLOCKBOUND_SYNCHRONIZED, 1.0, 1.0);
    return check_result();
}
