/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computations without enough memory: if any allocation fails, there is an error that says so,
 * nothing is left behind, and the next attempt has the usual result.
 */
#include "../check.h"

#include "arrival/replay.h"
#include "core/adaptive.h"
#include "core/checkup.h"
#include "core/estimator.h"
#include "core/mesh.h"
#include "core/mesh_plan.h"
#include "core/pairing.h"
#include "core/smoother.h"
#include "scarce.h"

#include <ictus/arrivals.h>
#include <ictus/error.h>
#include <ictus/result.h>
#include <unistd.h>

enum { SIZE = 6, BURST = 60, SWEEPS = 5, PAIRS = SIZE * (SIZE - 1) / 2 };

static char path[CHECK_PATH];

/* Exchanges of clocks that differ by 1 us per step between their numbers, with occasional waits. */
static void burst_fill(struct stamp stamps[BURST], int client, int server, int64_t from)
{
    for (int i = 0; i < BURST; i++) {
        const int64_t at = from + INT64_C(20000) * i;
        const int64_t there = at + 700 + i * 37 % 50;
        stamps[i] = (struct stamp){at, there + INT64_C(1000) * (server - client),
                                   there + 700 + i * 29 % 50};
    }
}

static int run_adaptive(double *found)
{
    struct stamp stamps[BURST];
    struct line line;
    struct line_error error;
    burst_fill(stamps, 0, 3, 1000000);
    const int err = ictusi_adaptive_fit(stamps, BURST, NULL, &line, &error, NULL);
    *found = err ? 0 : (double)line.offset + line.frac;
    return err;
}

static int run_pairing(double *found)
{
    struct pairing pairing;
    const int err = ictusi_pairing_create(SIZE, SIZE - 1, 1, &pairing);
    *found = err ? 0 : ictusi_pairing_partner(&pairing, 2, 3);
    ictusi_pairing_free(&pairing);
    return err;
}

static int mesh_sweep(struct mesh *mesh, int sweep)
{
    struct mesh_edge edges[PAIRS] = {{0}};
    int count = 0;
    int err = ICTUS_OK;
    for (int a = 0; a < SIZE && !err; a++) {
        for (int b = a + 1; b < SIZE && !err; b++) {
            struct stamp stamps[BURST];
            burst_fill(stamps, a, b, INT64_C(1000000000) * (1 + sweep) + INT64_C(5000000) * count);
            edges[count].client = a;
            edges[count].server = b;
            err = ictusi_mesh_burst(stamps, BURST, MESH_PAIR_AUTO, NULL, &edges[count++]);
        }
    }
    return err ? err : ictusi_mesh_add(mesh, edges, (size_t)count);
}

static int run_mesh(double *found)
{
    struct mesh *mesh = NULL;
    struct line lines[SIZE];
    struct line_error errors[SIZE];
    struct mesh_quality quality;
    int err = ictusi_mesh_create(SIZE, 1e-9, &mesh);
    for (int k = 0; k < SWEEPS && !err; k++) {
        err = mesh_sweep(mesh, k);
    }
    err = err ? err : ictusi_mesh_solve(mesh, lines, errors, 10.0, &quality);
    *found = err ? 0 : (double)lines[SIZE - 1].offset + quality.noise_ns;
    ictusi_mesh_free(mesh);
    return err;
}

static int run_checkup(double *found)
{
    static const struct checkup_limits limits = {.slow = 2, .drift = 1e-5, .step_ns = 1000};
    struct checkup_meeting meetings[CHECKUP_SWEEPS * PAIRS];
    struct checkup checkup = {.pairs = 0};
    for (int i = 0; i < CHECKUP_SWEEPS; i++) {
        int pair = i * PAIRS;
        for (int a = 0; a < SIZE; a++) {
            for (int b = a + 1; b < SIZE; b++) { /* 2 is slow with all others */
                const double rtt_ns = 1000 + 10 * (a + b) + (a == 2 || b == 2 ? 9000 : 0);
                meetings[pair++] =
                    (struct checkup_meeting){a, b, INT64_C(1000000000) * i, 100L * (b - a), rtt_ns};
            }
        }
    }
    const int err = ictusi_checkup(meetings, PAIRS, SIZE, &limits, &checkup);
    *found = err ? 0 : checkup.usual_rtt_ns + checkup.process[2].worst;
    ictusi_checkup_free(&checkup);
    return err;
}

static int run_smoother(double *found)
{
    struct smoother_point points[2 * SMOOTHER_POINTS_MIN];
    double walk = 0;
    for (int i = 0; i < 2 * SMOOTHER_POINTS_MIN; i++) {
        points[i] = (struct smoother_point){.t_s = i, .offset = 3 * i + i * 7 % 5, .sigma_ns = 2};
    }
    const int err = ictusi_smoother_run(points, 2 * SMOOTHER_POINTS_MIN, &walk);
    *found = err ? 0 : points[5].offset;
    return err;
}

static int run_arrivals(double *found)
{
    struct ictus_arrivals_list list = {.at = NULL};
    struct replay_track track = {.count = 0};
    const struct replay_part part = {
        .rank = 1, .size = 3, .draw = true, .seed = 7, .scale = 1, .gap_ns = -1};
    struct ictus_why why;
    int err = ictus_arrivals_read(path, &list, &why);
    const struct ictus_arrivals *pattern = err ? NULL : ictus_arrivals_find(&list, "b.c:2", &why);
    *found = pattern ? pattern->spread_ns : 0;
    CHECK(err || pattern); /* which needs no memory */
    if (pattern) {
        err = ictusi_replay_make(pattern, &part, &track, &why);
        *found += err ? 0 : (double)track.delays_ns[0];
        ictusi_replay_fini(&track);
    }
    ictus_arrivals_list_free(&list);
    return err;
}

static void memory_ends(const char *name, int (*run)(double *found))
{
    double wanted = 0;
    double found = 0;
    asked = refused = 0;
    REQUIRE(run(&wanted) == ICTUS_OK);
    const long most = asked;
    CHECK(most > 0 && wanted != 0);
    for (long at = 1; at <= most; at++) {
        asked = 0;
        refused = at;
        const int err = run(&found);
        refused = 0;
        if (err != ICTUS_ERR_NOMEM) {
            (void)fprintf(stderr, "%s: allocation %ld of %ld: %d\n", name, at, most, err);
        }
        CHECK(err == ICTUS_ERR_NOMEM);
    }
    CHECK(run(&found) == ICTUS_OK && found == wanted);
}

int main(void)
{
    const int fd = mkstemp(check_scratch(path, "scarce"));
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    REQUIRE(file);
    for (int i = 0; i < 3; i++) {
        (void)fprintf(file,
                      "{\"type\":\"arrivals\",\"site\":\"%c.c:%d\",\"ranks\":3,\"error_ns\":5,"
                      "\"raw_offsets_ns\":[[0,4000,1000],[2000,0,3000]],\"raw_calls\":[1,2],"
                      "\"raw_gaps_ns\":[[1,2,3],[4,5,6]],\"raw_silences_ns\":[[0,1,2],[3,4,5]]}\n",
                      'a' + i, 1 + i);
    }
    REQUIRE(fclose(file) == 0);
    memory_ends("adaptive", run_adaptive);
    memory_ends("pairing", run_pairing);
    memory_ends("mesh", run_mesh);
    memory_ends("checkup", run_checkup);
    memory_ends("smoother", run_smoother);
    memory_ends("arrivals", run_arrivals);
    (void)unlink(path);
    return check_result();
}
