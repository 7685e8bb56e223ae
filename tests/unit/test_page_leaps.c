/* SPDX-License-Identifier: BSD-3-Clause */
/* What the status says of a leap second, before it and after it; and the names of selections. */
#include "page/page.h"
#include "page/timebase.h"

#include <ictus/lock.h>
#include <ictus/time.h>
#include <unistd.h>

#include "../check.h"

static char directory[CHECK_PATH];

/* The leap that readers hear of, if the daemon has announced one of this kind at an instant that is
 * so far away. */
static int leap_read(uint8_t announced, int64_t leap_ns, int64_t away_ns)
{
    static struct ictus_lock_status told, read;
    struct page_writer writer = {.fd = -1};
    struct ictus_lock *lock = NULL;
    const int64_t raw = ictusi_timebase_raw_now();
    const struct page_clock clock = {.anchor = raw,
                                     .value = INT64_C(1800000000000000000),
                                     .state = ICTUS_LOCK_LOCKED,
                                     .bound_ns = 1000,
                                     .good_until = raw + 100 * ICTUS_NS_PER_S,
                                     .leap = announced,
                                     .leap_at = INT64_C(1800000000000000000) + away_ns,
                                     .leap_ns = leap_ns};
    REQUIRE(ictusi_page_create("leaps", directory, &writer, NULL) == ICTUS_OK);
    ictusi_page_publish(&writer, &clock);
    told.leap = announced;
    ictusi_page_report(&writer, &told);
    REQUIRE(ictus_lock_open("leaps", directory, &lock, NULL) == ICTUS_OK);
    REQUIRE(ictus_lock_status(lock, &read) == ICTUS_OK);
    CHECK(read.now.state == ICTUS_LOCK_LOCKED);
    ictus_lock_close(lock);
    ictusi_page_close(&writer);
    return (int)read.leap;
}

/* A leap second is announced until it has passed, and never without one; that a clock is not
 * synchronised (3) is no leap second and stays. */
static void leaps_are_announced_until_they_passed(void)
{
    static const int64_t hour = 3600 * ICTUS_NS_PER_S;
    CHECK(leap_read(1, -ICTUS_NS_PER_S, hour) == 1);
    CHECK(leap_read(2, ICTUS_NS_PER_S, hour) == 2);
    CHECK(leap_read(1, -ICTUS_NS_PER_S, -hour) == 0);
    CHECK(leap_read(2, ICTUS_NS_PER_S, -hour) == 0);
    CHECK(leap_read(1, 0, hour) == 0);
    CHECK(leap_read(0, 0, hour) == 0);
    CHECK(leap_read(3, 0, hour) == 3);
    CHECK(leap_read(3, -ICTUS_NS_PER_S, -hour) == 3);
}

/* Each selection has a name of its own. */
static void selections_have_names(void)
{
    for (int i = 0; i <= ICTUS_SOURCE_SELECTED; i++) {
        for (int k = 0; k < i; k++) {
            CHECK(strcmp(ictus_lock_selection_name((enum ictus_lock_selection)i),
                         ictus_lock_selection_name((enum ictus_lock_selection)k)) != 0);
        }
        CHECK(strcmp(ictus_lock_selection_name((enum ictus_lock_selection)i), "unknown") != 0);
    }
    CHECK_STR(ictus_lock_selection_name((enum ictus_lock_selection)(ICTUS_SOURCE_SELECTED + 1)),
              "unknown");
}

int main(void)
{
    char path[CHECK_PATH + 32];
    REQUIRE(mkdtemp(check_scratch(directory, "leaps")));
    leaps_are_announced_until_they_passed();
    selections_have_names();
    (void)snprintf(path, sizeof(path), "%s/ictus-lock.leaps", directory);
    CHECK(unlink(path) == 0);
    (void)snprintf(path, sizeof(path), "%s/ictus-guard.leaps", directory);
    (void)unlink(path);
    CHECK(rmdir(directory) == 0);
    return check_result();
}
