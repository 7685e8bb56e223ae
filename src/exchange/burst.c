/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes bursts of exchanges instead of sending them, only in the build for `ictus simulate`. */
#include "exchange/burst.h"

#include "clock/sources.h"

#include <dlfcn.h>
#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_REQUEST = 1, TAG_REPLY };

/* A function of the platform: delays, in s, of n messages of the given size between two hosts. */
typedef void delays_function(const char *from, const char *to, double bytes, size_t n,
                             double *delays_s);

/* What a client passes to its server by address, because simulated processes share memory. */
struct burst {
    const struct source *source;
    const char *host;
    struct stamp *stamps;
};

/* The platform is a shared object that SimGrid has already loaded. Return NULL if bursts are to
 * be sent as messages. */
static delays_function *burst_find_platform(void)
{
    delays_function *found = NULL;
    const char *path = getenv("ICTUS_SIMULATE_BURSTS");
    void *platform = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *symbol = platform ? dlsym(platform, "ictus_platform_delays") : NULL;
    memcpy(&found, &symbol, sizeof(found)); /* C has no cast from an object to a function */
    if (platform) {
        (void)dlclose(platform); /* SimGrid still holds it */
    }
    return found;
}

bool ictusi_burst_possible(const struct exchange *x, size_t n)
{
    const struct source_ops *ops = x->source->ops;
    return n > 1 && ops->reading_at && ops->under(x->source)->ops == &ictusi_source_simgrid &&
           getenv("ICTUS_SIMULATE_BURSTS");
}

/* A simulated clock is a function of simulated time, so it can be read at any instant of it. */
static int64_t burst_read_at(const struct source *source, double time_s)
{
    return source->ops->reading_at(source, (int64_t)floor(time_s * 1e9));
}

/* The client itself reads only stamps[0].sent and stamps[n - 1].received, when messages are
 * really sent. Meanwhile the server fills in the rest. */
int ictusi_burst_ping(struct exchange *x, int peer, size_t n, struct stamp *stamps)
{
    const struct burst burst = {x->source, sg_host_self_get_name(), stamps};
    const struct burst *shown = &burst;
    stamps[0].sent = ictusi_source_read(x->source);
    int err = PMPI_Send(&shown, (int)sizeof(shown), MPI_BYTE, peer, TAG_REQUEST, x->comm);
    if (err == MPI_SUCCESS) {
        err = PMPI_Recv(&stamps[n - 1].remote, 1, MPI_INT64_T, peer, TAG_REPLY, x->comm,
                        MPI_STATUS_IGNORE);
    }
    stamps[n - 1].received = ictusi_source_read(x->source);
    x->messages += n;
    return err;
}

/* Compute all replies but the last. Return the simulated time in s at which the last request
 * arrives. */
static double burst_compute(const struct exchange *x, const struct burst *burst, size_t n,
                            const struct line *line, double *delays_s)
{
    delays_function *platform = burst_find_platform();
    const char *here = sg_host_self_get_name();
    double *back_s = delays_s;
    double *forth_s = delays_s + n;
    double now_s = simgrid_get_clock();
    platform(here, burst->host, sizeof(int64_t), n - 1, back_s);
    platform(burst->host, here, sizeof(int64_t), n - 1, forth_s);
    for (size_t i = 0; i + 1 < n; i++) {
        burst->stamps[i].remote = ictusi_line_map(line, burst_read_at(x->source, now_s));
        now_s += back_s[i];
        burst->stamps[i].received = burst_read_at(burst->source, now_s);
        burst->stamps[i + 1].sent = burst->stamps[i].received;
        now_s += forth_s[i];
    }
    return now_s;
}

/* Sleep until the last request arrives, so that simulated time passes as if all messages were
 * sent. */
int ictusi_burst_pong(struct exchange *x, int peer, size_t n, const struct line *line)
{
    const struct burst *burst = NULL;
    double *delays_s = malloc(2 * n * sizeof(*delays_s));
    if (!delays_s) {
        return MPI_ERR_NO_MEM;
    }
    int err = PMPI_Recv(&burst, (int)sizeof(burst), MPI_BYTE, peer, TAG_REQUEST, x->comm,
                        MPI_STATUS_IGNORE);
    if (err == MPI_SUCCESS) {
        sg_actor_sleep_until(burst_compute(x, burst, n, line, delays_s));
        const int64_t reply = ictusi_line_map(line, ictusi_source_read(x->source));
        err = PMPI_Send(&reply, 1, MPI_INT64_T, peer, TAG_REPLY, x->comm);
    }
    free(delays_s);
    x->messages += n;
    return err;
}
