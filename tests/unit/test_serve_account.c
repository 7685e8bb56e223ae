/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ictus serve promises of a locked clock: never less than the clock's own bound, and nothing
 * of a clock that is not locked. The server's own code runs; the page that it reads is made up
 * here.
 */
#include "../check.h"

/* NOLINTBEGIN(bugprone-suspicious-include): its static functions are what is looked at */
#include "lock/serve.c"
/* NOLINTEND(bugprone-suspicious-include) */

static struct {
    struct ictus_lock_status status;
    int status_err, map_err, open_err, opened, closed;
    bool there;
    int64_t raw_ns, real_ns, mapped_ns, served_ns;
    enum ictus_lock_state state;
    char said[200];
} world;

static struct ictus_lock *const page = (struct ictus_lock *)(void *)&world;

int __wrap_ictus_lock_status(const struct ictus_lock *lock, struct ictus_lock_status *status);
int __wrap_ictus_lock_map(const struct ictus_lock *lock, struct ictus_time raw,
                          struct ictus_lock_reading *reading);
int __wrap_ictus_lock_open_guarded(const char *name, const char *directory,
                                   struct ictus_lock **lock, struct ictus_why *why);
void __wrap_ictus_lock_close(struct ictus_lock *lock);
bool __wrap_ictusi_page_lock_is_there(const struct ictus_lock *lock);
int64_t __wrap_ictusi_timebase_raw_now(void);
int64_t __wrap_ictusi_timebase_real_now(void);

int __wrap_ictus_lock_status(const struct ictus_lock *lock, struct ictus_lock_status *status)
{
    CHECK(lock == page);
    *status = world.status;
    return world.status_err;
}

int __wrap_ictus_lock_map(const struct ictus_lock *lock, struct ictus_time raw,
                          struct ictus_lock_reading *reading)
{
    CHECK(lock == page);
    world.mapped_ns = raw.ns;
    *reading = (struct ictus_lock_reading){.time = {world.served_ns}, .state = world.state};
    return world.map_err;
}

int __wrap_ictus_lock_open_guarded(const char *name, const char *directory,
                                   struct ictus_lock **lock, struct ictus_why *why)
{
    (void)why;
    CHECK_STR(name, "name");
    CHECK_STR(directory, "directory");
    world.opened++;
    *lock = page;
    return world.open_err;
}

void __wrap_ictus_lock_close(struct ictus_lock *lock)
{
    world.closed += lock != NULL;
}

bool __wrap_ictusi_page_lock_is_there(const struct ictus_lock *lock)
{
    CHECK(lock == page);
    return world.there;
}

int64_t __wrap_ictusi_timebase_raw_now(void)
{
    return world.raw_ns;
}

int64_t __wrap_ictusi_timebase_real_now(void)
{
    return world.real_ns;
}

static void hear(const char *text, void *context)
{
    CHECK(context == &world);
    (void)snprintf(world.said, sizeof world.said, "%s", text);
}

static const struct ictus_serve_options options = {
    .name = "name", .directory = "directory", .on_message = hear, .context = &world};
static const struct ictus_serve_options trusting = {
    .system_clock = true, .stratum = 5, .on_message = hear, .context = &world};
static struct serving serving; /* large */

static void begin(const struct ictus_serve_options *wanted)
{
    memset(&serving, 0, sizeof serving);
    memset(&world, 0, sizeof world);
    serving.options = wanted;
    world.raw_ns = 7000000000;
    world.real_ns = 9000000000;
    world.state = ICTUS_LOCK_LOCKED;
    world.there = true;
    world.status = (struct ictus_lock_status){.now = {.time = {5000000000},
                                                      .state = ICTUS_LOCK_LOCKED,
                                                      .sigma_ns = 100,
                                                      .bound_ns = 5000},
                                              .updated_raw_ns = 6000000000,
                                              .stratum = 3,
                                              .leap = 1,
                                              .reference_id = 0x0a000001,
                                              .root_delay_ns = 4000};
}

static const struct server_clock *account(void)
{
    serving.account_at = 0;
    serve_refresh_account(&serving);
    return &serving.server.clock;
}

static bool is_unsynchronised(void)
{
    const struct server_clock *clock = account();
    return clock->stratum == 16 && clock->leap == 3;
}

static void bounds_are_promised(void)
{
    const double drift = 250000; /* 500 ppm for half a second, until the next account */
    begin(&options);
    const struct server_clock *clock = account();
    CHECK(clock->stratum == 3 && clock->leap == 1 && clock->reference_id == 0x0a000001);
    CHECK(clock->root_delay_ns == 4000 && clock->reference_ns == 4000000000);
    CHECK_NEAR(clock->root_dispersion_ns, 5000 - 4000 / 2 + drift, 1e-6);
    world.status.now.bound_ns = 1000; /* less than half the delay */
    CHECK_NEAR(account()->root_dispersion_ns, 100 + drift, 1e-6);
    world.status.now.state = ICTUS_LOCK_HOLDOVER; /* its bound has grown, and holds */
    world.status.now.bound_ns = 1e9;
    CHECK_NEAR(account()->root_dispersion_ns, 1e9 - 2000 + drift, 1e-6);
    CHECK(account()->stratum == 3);
    world.status.stratum = 15;
    CHECK(account()->stratum == 15);
}

static void nothing_is_promised_unlocked(void)
{
    begin(&options);
    world.status.now.state = ICTUS_LOCK_UNLOCKED;
    CHECK(is_unsynchronised());
    begin(&options);
    world.status.stratum = 16;
    CHECK(is_unsynchronised());
    begin(&options);
    world.status_err = ICTUS_ERR_IO;
    CHECK(is_unsynchronised());
    begin(&options);
    world.open_err = ICTUS_ERR_IO;
    CHECK(is_unsynchronised() && !serving.lock);
}

/* Twice a second; a page that was removed is looked for again; changes are told. */
static void accounts_are_renewed(void)
{
    begin(&options);
    CHECK(account()->stratum == 3 && world.opened == 1);
    CHECK_STR(world.said, "the clock is locked and will be served");
    world.said[0] = '\0';
    world.status.stratum = 4;
    world.raw_ns += 499999999;
    serve_refresh_account(&serving);
    CHECK(serving.server.clock.stratum == 3);
    world.raw_ns += 1;
    serve_refresh_account(&serving);
    CHECK(serving.server.clock.stratum == 4 && world.opened == 1 && !world.said[0]);
    world.there = false;
    CHECK(account()->stratum == 4 && world.opened == 2 && world.closed == 1 && !world.said[0]);
    world.open_err = ICTUS_ERR_IO;
    CHECK(is_unsynchronised() && world.closed == 2);
    CHECK_STR(world.said, "the clock is not locked; answers say that it is unsynchronised");
}

static void stamps_are_of_the_served_clock(void)
{
    int64_t served = 0;
    begin(&options);
    CHECK(!serve_read_served(&serving, 42, &served) && served == 42); /* there is no page */
    serving.lock = page;
    serving.base.raw = 500;
    serving.base.real = 40;
    world.served_ns = 123456;
    CHECK(serve_read_served(&serving, 42, &served) && served == 123456);
    CHECK(world.mapped_ns == 502);
    world.state = ICTUS_LOCK_HOLDOVER;
    CHECK(serve_read_served(&serving, 42, &served));
    world.state = ICTUS_LOCK_UNLOCKED;
    CHECK(!serve_read_served(&serving, 42, &served) && served == 42);
    world.state = ICTUS_LOCK_LOCKED;
    world.map_err = ICTUS_ERR_SAMPLES;
    CHECK(!serve_read_served(&serving, 42, &served) && served == 42);
}

static void system_clocks_are_trusted(void)
{
    int64_t served = 0;
    begin(&trusting);
    const struct server_clock *clock = account();
    CHECK(clock->stratum == 5 && clock->root_dispersion_ns == 1000 && world.opened == 0);
    CHECK(clock->reference_id == 0x4c4f434c && clock->reference_ns == 9000000000);
    CHECK(clock->leap == 0 && clock->root_delay_ns == 0 && !world.said[0]);
    CHECK(serve_read_served(&serving, 42, &served) && served == 42);
}

int main(void)
{
    bounds_are_promised();
    nothing_is_promised_unlocked();
    accounts_are_renewed();
    stamps_are_of_the_served_clock();
    system_clocks_are_trusted();
    return check_result();
}
