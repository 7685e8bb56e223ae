/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bursts that are computed under SimGrid instead of being sent: their stamps, and the time that
 * passes, are those of real messages with the delays that the platform draws.
 */
#include "exchange/burst.h"

#include "../check.h"
#include "clock/sources.h"

#include <dlfcn.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>

enum { BURST_MOST = 9, PEER = 4 };

/* Simulated time, where this code runs, and what is under way. */
static struct {
    double now_s;
    const char *host;
    char bytes[64]; /* of the message under way */
    size_t size;
    size_t n;    /* of the burst */
    int fails;   /* this message fails; 0: none */
    int sent;    /* messages of MPI */
    int handles; /* of the platform, that are open */
    int drawn;   /* times that the platform was asked */
    struct exchange client, server;
    struct line line;
} world;

static const double request_s = 3e-6, reply_s = 5e-6; /* of real messages */

static double delay_s(bool forth, size_t i)
{
    return (forth ? 2e-6 : 7e-6) + 1e-7 * (double)i;
}

/* Clocks as functions of true time. */
static int64_t client_at(const struct source *source, int64_t truth)
{
    (void)source;
    return 3 * truth + 7;
}

static int64_t server_at(const struct source *source, int64_t truth)
{
    (void)source;
    return 5 * truth - 1000;
}

static int64_t now_ns(void)
{
    return (int64_t)floor(world.now_s * 1e9);
}

static int64_t client_read(const struct source *source)
{
    return client_at(source, now_ns());
}

static int64_t server_read(const struct source *source)
{
    return server_at(source, now_ns());
}

const struct source_ops ictusi_source_simgrid = {.name = "simgrid"};
static const struct source_ops other_ops = {.name = "other"};
static struct source inner = {&ictusi_source_simgrid};

static const struct source *clock_under(const struct source *source)
{
    (void)source;
    return &inner;
}

static const struct source_ops client_ops = {
    .name = "client", .read = client_read, .reading_at = client_at, .under = clock_under};
static const struct source_ops server_ops = {
    .name = "server", .read = server_read, .reading_at = server_at, .under = clock_under};
static const struct source client_clock = {&client_ops};
static const struct source server_clock = {&server_ops};

/* What SimGrid says; its own declarations are not prototypes. */
const char *sg_host_self_get_name(void);
double simgrid_get_clock(void);

const char *sg_host_self_get_name(void)
{
    return world.host;
}

double simgrid_get_clock(void)
{
    return world.now_s;
}

void sg_actor_sleep_until(double wakeup_time)
{
    CHECK(wakeup_time >= world.now_s);
    world.now_s = wakeup_time;
}

/* The platform's delays, which burst.c looks up by their name. */
__attribute__((visibility("default"))) void
ictus_platform_delays(const char *from, const char *to, double bytes, size_t n, double *delays_s);
void ictus_platform_delays(const char *from, const char *to, double bytes, size_t n,
                           double *delays_s)
{
    const bool forth = strcmp(from, "client") == 0;
    CHECK_STR(to, forth ? "server" : "client");
    CHECK(bytes == 8.0 && n == world.n - 1);
    world.drawn++;
    for (size_t i = 0; i < n; i++) {
        delays_s[i] = delay_s(forth, i);
    }
}

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
void *__real_dlopen(const char *path, int flags);
void *__wrap_dlopen(const char *path, int flags);
int __real_dlclose(void *handle);
int __wrap_dlclose(void *handle);
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */
void *__wrap_dlopen(const char *path, int flags)
{
    CHECK_STR(path, "/the/platform.so");
    CHECK(flags & RTLD_NOLOAD); /* SimGrid has it, and another copy would draw other delays */
    world.handles++;
    return __real_dlopen(NULL, RTLD_LAZY);
}

int __wrap_dlclose(void *handle)
{
    world.handles--;
    return __real_dlclose(handle);
}

static bool world_fails(void)
{
    return world.fails && --world.fails == 0;
}

int PMPI_Send(const void *bytes, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    (void)comm;
    world.size = (size_t)n * (type == MPI_INT64_T ? sizeof(int64_t) : 1);
    CHECK(to == PEER && world.size <= sizeof(int64_t) && (tag == 1 || tag == 2));
    memcpy(world.bytes, bytes, world.size);
    world.now_s += tag == 1 ? request_s : reply_s;
    world.sent++;
    return world_fails() ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* The client waits for its reply while the server answers. */
int PMPI_Recv(void *bytes, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Status *status)
{
    (void)comm;
    (void)status;
    if (world_fails()) {
        return MPI_ERR_OTHER;
    }
    if (tag == 2) {
        world.host = "server";
        const int err = ictusi_burst_pong(&world.server, PEER, world.n, &world.line);
        world.host = "client";
        if (err != MPI_SUCCESS) {
            return err;
        }
    }
    CHECK(from == PEER);
    CHECK((size_t)n * (type == MPI_INT64_T ? sizeof(int64_t) : 1) == world.size);
    memcpy(bytes, world.bytes, world.size);
    return MPI_SUCCESS;
}

static void world_begin(size_t n)
{
    memset(&world, 0, sizeof(world));
    world.now_s = 1.25;
    world.host = "client";
    world.n = n;
    world.client.source = &client_clock;
    world.server.source = &server_clock;
    world.line = ictusi_line_make(0, 123456, 0.0, 0.0);
}

/* Each stamp where a real message would have put it. */
static void stamps_are_those_of_messages(void)
{
    for (size_t n = 2; n <= BURST_MOST; n++) {
        struct stamp stamps[BURST_MOST] = {{0, 0, 0}};
        world_begin(n);
        double t_s = world.now_s;
        CHECK(ictusi_burst_ping(&world.client, PEER, n, stamps) == MPI_SUCCESS);
        for (size_t i = 0; i < n; i++) {
            const bool last = i == n - 1;
            CHECK_NEAR(stamps[i].sent, client_at(NULL, (int64_t)floor(t_s * 1e9)), 3);
            t_s += i == 0 ? request_s : delay_s(true, i - 1);
            CHECK_NEAR(stamps[i].remote, server_at(NULL, (int64_t)floor(t_s * 1e9)) + 123456, 5);
            t_s += last ? reply_s : delay_s(false, i);
            CHECK_NEAR(stamps[i].received, client_at(NULL, (int64_t)floor(t_s * 1e9)), 3);
        }
        CHECK_NEAR(world.now_s, t_s, 1e-9);
        CHECK(world.client.messages == n && world.server.messages == n);
        CHECK(world.sent == 2 && world.drawn == 2 && world.handles == 0);
    }
}

/* A message that fails is told on its side, and no reply is invented. */
static void failures_are_told(void)
{
    for (int fails = 1; fails <= 4; fails++) { /* request, its receipt, reply, its receipt */
        struct stamp stamps[BURST_MOST] = {{0, 0, 0}};
        world_begin(3);
        world.fails = fails;
        CHECK(ictusi_burst_ping(&world.client, PEER, 3, stamps) == MPI_ERR_OTHER);
        CHECK(stamps[2].remote == 0);
        CHECK(world.sent == (fails <= 3 ? 1 : 2) && world.client.messages == 3);
        CHECK(world.handles == 0);
    }
}

/* Only simulated clocks are computed, where it is allowed, and if there is anything to compute. */
static void others_are_sent(void)
{
    struct source_ops ops = client_ops;
    const struct source source = {&ops};
    world_begin(3);
    CHECK(ictusi_burst_possible(&world.client, 2));
    CHECK(!ictusi_burst_possible(&world.client, 1));
    CHECK(!ictusi_burst_possible(&world.client, 0));
    inner.ops = &other_ops;
    CHECK(!ictusi_burst_possible(&world.client, 2));
    inner.ops = &ictusi_source_simgrid;
    world.client.source = &source;
    ops.reading_at = NULL;
    CHECK(!ictusi_burst_possible(&world.client, 2));
    world.client.source = &client_clock;
    REQUIRE(!unsetenv("ICTUS_SIMULATE_BURSTS"));
    CHECK(!ictusi_burst_possible(&world.client, 2));
}

int main(void)
{
    REQUIRE(!setenv("ICTUS_SIMULATE_BURSTS", "/the/platform.so", 1));
    stamps_are_those_of_messages();
    failures_are_told();
    others_are_sent();
    return check_result();
}
