/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrivals of two processes as a table has them, after walks through memory of several lengths:
 * what the preloaded probe then says of the caches and of the collective. Of bench/arrivals.
 *   walk TABLE OPERATION BYTES REPETITIONS WALK...
 * The table has two offsets in ns a line; a block of repetitions for each walk, in its order.
 */
#include "probe.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 4096, MEMORY = 32 << 20, LINE = 64, READY_NS = 15000 };

struct walk {
    int rank, count;
    volatile unsigned char *memory;
    size_t at;
    double *in, *out;
    int64_t offsets[ROWS][2];
    long rows;
};

static void walk_lines(struct walk *w, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += LINE) {
        w->memory[w->at]++;
        w->at = (w->at + LINE) % MEMORY;
    }
}

static void walk_call(struct walk *w, int operation)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    switch (operation) {
    case PROBE_ALLREDUCE:
        MPI_Allreduce(w->in, w->out, w->count, MPI_DOUBLE, MPI_SUM, world);
        break;
    case PROBE_IN_PLACE:
        MPI_Allreduce(MPI_IN_PLACE, w->out, w->count, MPI_DOUBLE, MPI_SUM, world);
        break;
    case PROBE_BCAST:
        MPI_Bcast(w->out, w->count, MPI_DOUBLE, 0, world);
        break;
    case PROBE_REDUCE:
        MPI_Reduce(w->in, w->out, w->count, MPI_DOUBLE, MPI_SUM, 0, world);
        break;
    default:
        MPI_Barrier(world);
    }
}

/* One instance: both begin at an instant, walk, and wait until they are to arrive. */
static void walk_once(struct walk *w, int operation, size_t bytes, long row)
{
    int64_t begin = 0;
    PMPI_Barrier(MPI_COMM_WORLD);
    begin = probe_now() + READY_NS;
    PMPI_Bcast(&begin, sizeof begin, MPI_BYTE, 0, MPI_COMM_WORLD);
    while (probe_now() < begin) {
    }
    walk_lines(w, bytes);
    const int64_t arrival = begin + (int64_t)(bytes / 2) + w->offsets[row][w->rank];
    while (probe_now() < arrival) {
    }
    walk_call(w, operation);
}

static int walk_read(struct walk *w, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[80];
    while (file && w->rows < ROWS && fgets(line, sizeof line, file)) {
        char *rest = line;
        w->offsets[w->rows][0] = strtoll(line, &rest, 10);
        w->offsets[w->rows++][1] = strtoll(rest, NULL, 10);
    }
    if (file) {
        (void)fclose(file);
    }
    return w->rows > 0;
}

int main(int argc, char **argv)
{
    static struct walk w;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    if (argc < 6 || !walk_read(&w, argv[1])) {
        (void)fprintf(stderr, "usage: walk TABLE OPERATION BYTES REPETITIONS WALK...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const int operation = (int)strtol(argv[2], NULL, 10);
    const size_t bytes = (size_t)strtol(argv[3], NULL, 10);
    w.count = (int)(bytes / sizeof(double));
    w.memory = calloc(MEMORY, 1);
    w.in = calloc(bytes + 1, 1);
    w.out = calloc(bytes + 1, 1);
    if (!w.memory || !w.in || !w.out) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    walk_lines(&w, MEMORY);
    for (int i = 5; i < argc; i++) {
        for (long k = 0; k < strtol(argv[4], NULL, 10); k++) {
            walk_once(&w, operation, (size_t)strtol(argv[i], NULL, 10), k % w.rows);
        }
    }
    MPI_Finalize();
    return 0;
}
