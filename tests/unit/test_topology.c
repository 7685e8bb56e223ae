/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The neighbours of all processes at once: what one sends to another is what the other receives
 * from it, on rings, grids and graphs, and graphs that are none are refused.
 */
#include "bench/topology.h"

#include "../check.h"
#include "core/random.h"

#include <unistd.h>

enum { SIZE_MOST = 13 };

/* As equal as possible, by hand: the largest factor that leaves the rest as large. */
int MPI_Dims_create(int size, int count, int dims[])
{
    for (int d = 0; d < count; d++) {
        const double wanted = pow(size, 1.0 / (count - d));
        int factor = (int)ceil(wanted - 1e-9);
        while (size % factor != 0) {
            factor++;
        }
        dims[d] = factor;
        size /= factor;
    }
    return MPI_SUCCESS;
}

/* The topologies of all ranks. */
static struct topology all[SIZE_MOST];

static void all_begin(const char *text, int size)
{
    struct topology_options options;
    struct ictus_why why = {""};
    REQUIRE(!ictusi_topology_read(text, &options, &why));
    for (int r = 0; r < size; r++) {
        REQUIRE(!ictusi_topology_init(&all[r], &options, r, size, &why));
    }
}

static void all_end(int size)
{
    for (int r = 0; r < size; r++) {
        ictusi_topology_fini(&all[r]);
        CHECK(!all[r].sources && !all[r].targets && all[r].source_count == 0);
    }
}

/* How many blocks rank r receives as block `slot` of another. */
static int sources_count(int r, int from, int slot, enum slot_order order)
{
    int count = 0;
    for (int k = 0; k < all[r].source_count; k++) {
        count += all[r].sources[k].rank == from && all[r].sources[k].slot[order] == slot;
    }
    return count;
}

/* Each block that is sent is received once, whatever the order in which blocks of a pair come. */
static void blocks_arrive(int size)
{
    for (int r = 0; r < size; r++) {
        for (int slot = 0; slot < all[r].target_count; slot++) {
            const int to = all[r].targets[slot];
            for (int order = 0; to != MPI_PROC_NULL && order < SLOT_ORDERS; order++) {
                REQUIRE(to >= 0 && to < size);
                CHECK(sources_count(to, r, slot, (enum slot_order)order) == 1);
            }
        }
        for (int k = 0; k < all[r].source_count; k++) {
            const struct source_neighbor *s = &all[r].sources[k];
            CHECK(s->rank == MPI_PROC_NULL || all[s->rank].targets[s->slot[SLOT_RIGHT]] == r);
            for (int l = 0; l < k && s->rank != MPI_PROC_NULL; l++) {
                const struct source_neighbor *before = &all[r].sources[l];
                CHECK(before->rank != s->rank ||
                      (before->slot[SLOT_ASCENDING] < s->slot[SLOT_ASCENDING] &&
                       before->slot[SLOT_DESCENDING] > s->slot[SLOT_DESCENDING]));
            }
        }
    }
}

/* The coordinate of a rank in a grid whose last dimension varies fastest. */
static int coordinate_of(const struct topology *t, int rank, int dimension)
{
    for (int d = t->dimensions - 1; d > dimension; d--) {
        rank /= t->dims[d];
    }
    return rank % t->dims[dimension];
}

/* In each dimension first the neighbour before, then the one after. */
static void grids_are_grids(const char *text, int dimensions, bool periodic)
{
    for (int size = 1; size < SIZE_MOST; size++) {
        all_begin(text, size);
        for (int r = 0; r < size; r++) {
            const struct topology *t = &all[r];
            CHECK(t->dimensions == dimensions && t->target_count == 2 * dimensions);
            CHECK(t->source_count == 2 * dimensions);
            for (int slot = 0; slot < t->target_count; slot++) {
                const int to = t->targets[slot];
                const int length = t->dims[slot / 2];
                const int wanted = coordinate_of(t, r, slot / 2) + (slot % 2 ? 1 : -1);
                const bool inside = wanted >= 0 && wanted < length;
                CHECK((to == MPI_PROC_NULL) == (!inside && !periodic));
                for (int d = 0; d < dimensions && to != MPI_PROC_NULL; d++) {
                    CHECK(coordinate_of(t, to, d) ==
                          (d == slot / 2 ? (wanted + length) % length : coordinate_of(t, r, d)));
                }
                CHECK(t->sources[slot].rank == to);
            }
        }
        blocks_arrive(size);
        all_end(size);
    }
}

/* The next so many ranks. */
static void regular_graphs_are_regular(void)
{
    for (int size = 2; size < SIZE_MOST; size++) {
        for (int degree = 1; degree < size; degree++) {
            char text[32];
            (void)snprintf(text, sizeof(text), "graph:degree=%d", degree);
            all_begin(text, size);
            for (int r = 0; r < size; r++) {
                CHECK(all[r].target_count == degree && all[r].source_count == degree);
                for (int i = 0; i < degree; i++) {
                    CHECK(all[r].targets[i] == (r + 1 + i) % size);
                }
            }
            blocks_arrive(size);
            all_end(size);
        }
    }
    struct topology_options options;
    struct ictus_why why = {""};
    REQUIRE(!ictusi_topology_read("graph:degree=4", &options, &why));
    CHECK(ictusi_topology_init(&all[0], &options, 0, 4, &why) == ICTUS_ERR_ARG);
    CHECK(strstr(why.text, "graph:degree=4 needs more than 4 processes, but there are 4"));
    CHECK(!all[0].sources && !all[0].targets);
}

static void file_write(char path[CHECK_PATH], const char *text)
{
    const int fd = mkstemp(check_scratch(path, "graph"));
    REQUIRE(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    (void)close(fd);
}

static void file_option(const char *path, struct topology_options *options)
{
    char text[CHECK_PATH + 32];
    struct ictus_why why = {""};
    (void)snprintf(text, sizeof(text), "graph:file=%s", path);
    REQUIRE(!ictusi_topology_read(text, options, &why));
}

/* Random graphs: each process has its edges in the order of the file. */
static void listed_graphs_are_as_listed(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rng rng;
        char path[CHECK_PATH];
        char text[8192] = "# FROM TO\n\n";
        bool has[SIZE_MOST][SIZE_MOST] = {{false}};
        int edges[SIZE_MOST * SIZE_MOST][2];
        int count = 0;
        ictusi_random_seed(&rng, seed, 0);
        const int size = 1 + (int)ictusi_random_below(&rng, SIZE_MOST);
        for (int i = 0; i < size * 3; i++) {
            const int from = (int)ictusi_random_below(&rng, (uint64_t)size);
            const int to = (int)ictusi_random_below(&rng, (uint64_t)size);
            if (!has[from][to]) {
                const size_t at = strlen(text);
                static const char *const shapes[] = {"%d %d\n", "  %d,%d \n", "%d\t%d\r\n"};
                has[from][to] = true;
                (void)snprintf(text + at, sizeof(text) - at, shapes[i % 3], from, to);
                edges[count][0] = from;
                edges[count++][1] = to;
            }
        }
        struct topology_options options;
        struct ictus_why why = {""};
        file_write(path, text);
        file_option(path, &options);
        for (int r = 0; r < size; r++) {
            int targets = 0, sources = 0;
            REQUIRE(!ictusi_topology_init(&all[r], &options, r, size, &why));
            for (int e = 0; e < count; e++) {
                CHECK(edges[e][0] != r || all[r].targets[targets++] == edges[e][1]);
                CHECK(edges[e][1] != r || all[r].sources[sources++].rank == edges[e][0]);
            }
            CHECK(all[r].target_count == targets && all[r].source_count == sources);
        }
        blocks_arrive(size);
        all_end(size);
        (void)unlink(path);
    }
}

static void other_graphs_are_refused(void)
{
    static const struct {
        const char *text;
        int err;
        const char *reason;
    } files[] = {
        {"0 1\n1 2 3\n", ICTUS_ERR_SPEC, "line 2: an edge is two ranks"},
        {"0\n", ICTUS_ERR_SPEC, "line 1: an edge is two ranks"},
        {"0 x\n", ICTUS_ERR_SPEC, "line 1: an edge is two ranks"},
        {"x 0\n", ICTUS_ERR_SPEC, "line 1: an edge is two ranks"},
        {"#\n-1 0\n", ICTUS_ERR_SPEC, "line 2: an edge is two ranks"},
        {"0 -1\n", ICTUS_ERR_SPEC, "line 1: an edge is two ranks"},
        {"0 4294967297\n", ICTUS_ERR_SPEC, "line 1: an edge is two ranks"},
        {"0 1\n0 3\n", ICTUS_ERR_ARG, "line 2: edge 0 3: ranks must be below 3"},
        {"3 0\n", ICTUS_ERR_ARG, "line 1: edge 3 0: ranks must be below 3"},
        {"0 1\n0 2\n0 1\n", ICTUS_ERR_SPEC, "edge 0 1 is listed twice"},
        {"# nothing\n\n \t\n", ICTUS_ERR_SPEC, "the file has no edges"},
    };
    struct topology_options options;
    struct ictus_why why;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[CHECK_PATH];
        file_write(path, files[i].text);
        file_option(path, &options);
        for (int r = 0; r < 2; r++) { /* both ends of what is listed twice */
            why.text[0] = '\0';
            CHECK(ictusi_topology_init(&all[0], &options, r, 3, &why) == files[i].err);
            CHECK(strstr(why.text, files[i].reason) && strstr(why.text, path));
            CHECK(!all[0].sources && !all[0].targets);
        }
        (void)unlink(path);
        if (i == 0) {
            CHECK(ictusi_topology_init(&all[0], &options, 0, 3, &why) == ICTUS_ERR_SPEC);
            CHECK(strstr(why.text, "cannot read"));
        }
    }
    static const struct {
        const char *text;
        int err;
    } specs[] = {{"rign", ICTUS_ERR_UNKNOWN},
                 {"ring:degree=2", ICTUS_ERR_SPEC},
                 {"cart:dimensions=0", ICTUS_ERR_SPEC},
                 {"cart:dimensions=7", ICTUS_ERR_SPEC},
                 {"graph:degree=0", ICTUS_ERR_SPEC}};
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        CHECK(ictusi_topology_read(specs[i].text, &options, &why) == specs[i].err);
    }
}

int main(void)
{
    grids_are_grids(NULL, 1, true); /* a ring */
    grids_are_grids("ring", 1, true);
    grids_are_grids("cart", 2, true);
    grids_are_grids("cart:dimensions=3", 3, true);
    grids_are_grids("cart:dimensions=1,periodic=0", 1, false);
    grids_are_grids("cart:dimensions=2,periodic=no", 2, false);
    grids_are_grids("cart:dimensions=6,periodic=0", 6, false);
    regular_graphs_are_regular();
    listed_graphs_are_as_listed();
    other_graphs_are_refused();
    return check_result();
}
