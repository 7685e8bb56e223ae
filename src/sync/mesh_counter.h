/* SPDX-License-Identifier: BSD-3-Clause */
/* Which processes of a mesh share a counter, and how two of them read their clocks by it. */
#ifndef ICTUS_SYNC_MESH_COUNTER_H
#define ICTUS_SYNC_MESH_COUNTER_H

#include "core/calibration.h"
#include "exchange/exchange.h"
#include "sync/sync.h"

#include <stdbool.h>
#include <stdint.h>

struct mesh_counter {
    int rank;
    uint64_t *names; /* of each process's counter, 0: none; NULL: no two processes share one */
    bool begun;      /* `earlier` is set */
    struct calibration_point earlier; /* of this process's clock, which shows its rate */
};

/* Find out which processes read the same counter; none if it is not wanted. Collective. The error
 * is the same on all processes. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_MPI. */
int ictusi_mesh_counter_open(struct mesh_counter *counter, bool wanted, struct sync_run *run);

void ictusi_mesh_counter_close(struct mesh_counter *counter);

/* Return whether this process and another one read the same counter. */
bool ictusi_mesh_counter_shared(const struct mesh_counter *counter, int peer);

/* Return whether all processes read the same counter. */
bool ictusi_mesh_counter_common(const struct mesh_counter *counter, int size);

/* What the meetings of two processes after a burst may take, and what they showed. */
struct mesh_meetings {
    double budget_s;
    struct calibration_pair *seen; /* room for CALIBRATION_MEETINGS */
    int count;
};

/*
 * Read this process's clock by the counter at the same time as `peer`, which calls this, too, again
 * and again until there are CALIBRATION_MEETINGS or the time is up. The client (`asks`) receives
 * what both of them read. One that was interrupted is made again. Errors: ICTUS_ERR_MPI.
 */
int ictusi_mesh_counter_meet(struct mesh_counter *counter, struct exchange *x, int peer, bool asks,
                             struct mesh_meetings *meetings);

#endif
