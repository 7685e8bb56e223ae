/* SPDX-License-Identifier: BSD-3-Clause */
/* `ictus serve` while the clock that it serves goes away, comes back, and is truncated. */
#include "page/page.h"
#include "page/timebase.h"

#include "daemon.h"

static struct page_writer writer;

/* Publish a clock that is ten seconds from the system's. */
static void publish_foreign(int64_t ahead_ns, double sigma_ns, double bound_ns)
{
    struct timebase base = {0};
    (void)ictusi_timebase_read(&base);
    const struct page_clock clock = {.anchor = base.raw,
                                     .value = base.real + ahead_ns,
                                     .pp_ns2 = sigma_ns * sigma_ns,
                                     .bound_ns = bound_ns,
                                     .good_until = base.raw + INT64_C(60000000000),
                                     .state = ICTUS_LOCK_LOCKED};
    const struct ictus_lock_status status = {
        .stratum = 3, .root_delay_ns = 3e5, .updated_raw_ns = base.raw};
    ictusi_page_publish(&writer, &clock);
    ictusi_page_report(&writer, &status);
}

/*
 * The state that a server announces and the time it shows must agree. @return whether it was locked
 */
static bool check_reply(const struct packet *reply, int64_t ahead_ns)
{
    if (reply->stratum == 0) {
        CHECK(reply->leap == PACKET_LEAP_UNSYNCHRONISED);
        return false;
    }
    const int64_t now = ictusi_timebase_real_now();
    CHECK_NEAR((double)(ictusi_packet_unix(reply->transmit, now) - now), (double)ahead_ns, 2e9);
    return true;
}

/* Run a server that does not share this process's lock on the clock's name. */
static int run_apart(const void *options)
{
    (void)close(writer.guard);
    return run_serve(options);
}

/*
 * Half the root delay plus the root dispersion must be at least the bound, and at least sigma,
 * because clients take it for the largest possible error of this clock.
 */
static void check_distance(int port, int64_t ahead)
{
    static const struct {
        double sigma_ns, bound_ns;
    } clocks[] = {{1e2, 1e6}, {2e6, 1e6}, {1e3, 1.5e5}, {1e2, 1e3}};
    for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
        const double least = fmax(clocks[i].sigma_ns, clocks[i].bound_ns);
        double distance = 0.0;
        publish_foreign(ahead, clocks[i].sigma_ns, clocks[i].bound_ns);
        sleep_ms(600); /* the server checks the status every half second */
        for (int asked = 0; asked < 50; asked++) {
            struct packet reply;
            if (ask(port, &reply) && reply.stratum) {
                distance = reply.root_delay_ns / 2 + reply.root_dispersion_ns;
                break;
            }
        }
        CHECK(distance >= least && distance < least + 2e6);
    }
}

/* While `ictus lock` is restarted, `ictus serve` answers from no clock but the one it announced. */
static void test_restart(void)
{
    struct ictus_why why;
    struct packet reply = {0};
    const int64_t ahead = INT64_C(10000000000);
    const int port = free_port(SOCK_DGRAM);
    int locked = 0;
    REQUIRE(ictusi_page_create("restart", directory, &writer, &why) == ICTUS_OK);
    publish_foreign(ahead, 1e2, 1e4);
    struct ictus_serve_options o = serve_options(port);
    o.system_clock = false;
    o.name = "restart";
    o.address = "127.0.0.1";
    const pid_t server = spawn(run_apart, &o);
    REQUIRE(wait_answer(port));
    for (int i = 0; i < 20 && !locked; i++) {
        locked += ask(port, &reply) && check_reply(&reply, ahead);
    }
    CHECK(locked > 0);
    /* The daemon is gone and another one starts, which has not measured anything yet. */
    ictusi_page_close(&writer);
    REQUIRE(ictusi_page_create("restart", directory, &writer, &why) == ICTUS_OK);
    for (int i = 0; i < 50; i++) {
        CHECK(!ask(port, &reply) || !check_reply(&reply, ahead));
    }
    publish_foreign(ahead, 1e2, 1e4);
    locked = 0;
    for (int i = 0; i < 200 && !locked; i++) {
        locked += ask(port, &reply) && check_reply(&reply, ahead);
        sleep_ms(20);
    }
    CHECK(locked > 0);
    check_distance(port, ahead);
    /* The page is truncated while a server reads it; the server continues, unsynchronised. */
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/ictus-lock.restart", directory);
    REQUIRE(truncate(path, 0) == 0);
    for (int i = 0; i < 10; i++) {
        CHECK(!ask(port, &reply) || !check_reply(&reply, ahead));
    }
    REQUIRE(truncate(path, sizeof(struct page)) == 0);
    CHECK_NEAR(stop(server), 0, 0);
    ictusi_page_close(&writer);
    remove_clock("restart");
}

int main(void)
{
    REQUIRE(mkdtemp(check_scratch(directory, "daemon")));
    test_restart();
    CHECK(rmdir(directory) == 0);
    return check_result();
}
