/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random-walk frequency on a grid of cells. Within a cell the frequency is linear, so the phase
 * is a parabola, and both are continuous. Cells are drawn in chunks when they are first needed.
 *
 * With f_k the frequency at the start of cell k, T the length of a cell and w the walk,
 *   f_{k+1} = f_k + w sqrt(T) N(0, 1),   phase_{k+1} = phase_k + T (f_k + f_{k+1}) / 2.
 * After t seconds the frequency has the variance w^2 t and the phase the variance w^2 t^3 / 3, up
 * to terms of order T / t. Chunk n begins where chunk n - 1 ends. Chunks are therefore drawn in
 * order, so that the walk does not depend on which instant is asked for first.
 */
#include "clock/wander.h"

#include "core/random.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    CELL_NS = 50000000, /* 50 ms: far below the seconds over which a walk becomes visible */
    CHUNK_CELLS = 64,
    SHELF_CHUNKS = 64,
    SHELVES = 64,
    CHUNKS = SHELVES * SHELF_CHUNKS /* 3.6 h */
};

struct cell {
    double phase_ns;  /* at its start */
    double frequency; /* at its start, ns per ns */
};

struct chunk {
    struct cell cells[CHUNK_CELLS + 1]; /* the last one equals the first of the next chunk */
};

/* The table of chunks has two levels. A flat table would take 32 KiB for each walk, and each of
 * thousands of simulated processes has one. */
struct shelf {
    _Atomic(struct chunk *) chunks[SHELF_CHUNKS];
};

struct wander {
    double step; /* standard deviation of the frequency's change over one cell */
    struct rng rng;
    pthread_mutex_t lock;
    int made;
    _Atomic(struct shelf *) shelves[SHELVES];
};

int ictusi_wander_create(double walk, uint64_t seed, uint64_t stream, struct wander **wander)
{
    struct wander *w = calloc(1, sizeof(*w));
    if (!w) {
        return ICTUS_ERR_NOMEM;
    }
    w->step = walk * sqrt((double)CELL_NS * 1e-9);
    ictusi_random_seed(&w->rng, seed, stream);
    (void)pthread_mutex_init(&w->lock, NULL);
    *wander = w;
    return ICTUS_OK;
}

/* No step follows the last cell here, because the next chunk starts with that cell. */
static void wander_fill_chunk(struct wander *w, struct chunk *chunk, struct cell start)
{
    for (int i = 0; i <= CHUNK_CELLS; i++) {
        chunk->cells[i] = start;
        const double next = start.frequency + w->step * ictusi_random_normal(&w->rng);
        if (i < CHUNK_CELLS) {
            start.phase_ns += (start.frequency + next) / 2.0 * CELL_NS;
            start.frequency = next;
        }
    }
}

/* Return NULL if this chunk has not been drawn yet. */
static struct chunk *wander_find_chunk(struct wander *w, int index)
{
    struct shelf *shelf =
        atomic_load_explicit(&w->shelves[index / SHELF_CHUNKS], memory_order_acquire);
    return shelf ? atomic_load_explicit(&shelf->chunks[index % SHELF_CHUNKS], memory_order_acquire)
                 : NULL;
}

/* The caller holds the lock. Return NULL if memory runs out. */
static struct shelf *wander_find_or_make_shelf(struct wander *w, int index)
{
    struct shelf *shelf = atomic_load_explicit(&w->shelves[index], memory_order_relaxed);
    if (!shelf) {
        shelf = calloc(1, sizeof(*shelf));
        atomic_store_explicit(&w->shelves[index], shelf, memory_order_release);
    }
    return shelf;
}

/* Draw the chunk after the last one. The caller holds the lock. Return false if memory runs out. */
static bool wander_add_chunk(struct wander *w)
{
    struct shelf *shelf = wander_find_or_make_shelf(w, w->made / SHELF_CHUNKS);
    struct chunk *chunk = shelf ? malloc(sizeof(*chunk)) : NULL;
    if (!chunk) {
        return false;
    }
    const struct cell origin = {0.0, 0.0};
    wander_fill_chunk(w, chunk,
                      w->made > 0 ? wander_find_chunk(w, w->made - 1)->cells[CHUNK_CELLS] : origin);
    atomic_store_explicit(&shelf->chunks[w->made % SHELF_CHUNKS], chunk, memory_order_release);
    w->made++;
    return true;
}

/* Draw all chunks up to the wanted one. Return NULL if memory runs out. */
static struct chunk *wander_grow(struct wander *w, int wanted)
{
    (void)pthread_mutex_lock(&w->lock);
    while (w->made <= wanted && wander_add_chunk(w)) {
        /* Chunks are drawn in order, because each begins where the previous one ends. */
    }
    (void)pthread_mutex_unlock(&w->lock);
    return wander_find_chunk(w, wanted);
}

static const struct chunk *chunk_at(struct wander *w, int index)
{
    struct chunk *chunk = wander_find_chunk(w, index);
    return chunk ? chunk : wander_grow(w, index);
}

/*
 * phase(t) = phase_k + t f_k + t^2 (f_{k+1} - f_k) / (2 T), with t the time since the start of cell
 * k. Beyond the last cell (3.6 h) the frequency stays constant. The walk is wrong there, but it
 * never jumps.
 */
double ictusi_wander_phase(struct wander *w, int64_t elapsed_ns)
{
    if (elapsed_ns <= 0) {
        return 0.0;
    }
    const int64_t cell = elapsed_ns / CELL_NS;
    const int64_t last = (int64_t)CHUNKS * CHUNK_CELLS - 1;
    const int64_t used = cell < last ? cell : last;
    const struct chunk *chunk = chunk_at(w, (int)(used / CHUNK_CELLS));
    if (!chunk) {
        return 0.0;
    }
    const struct cell *a = &chunk->cells[used % CHUNK_CELLS];
    const double inside = (double)(elapsed_ns - used * CELL_NS);
    const double bend = cell <= last ? (a[1].frequency - a->frequency) / CELL_NS : 0.0;
    return a->phase_ns + inside * (a->frequency + bend * inside / 2.0);
}

void ictusi_wander_free(struct wander *w)
{
    if (!w) {
        return;
    }
    for (int i = 0; i < w->made; i++) {
        free(wander_find_chunk(w, i));
    }
    for (int i = 0; i < SHELVES; i++) {
        free(atomic_load_explicit(&w->shelves[i], memory_order_relaxed));
    }
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
}
