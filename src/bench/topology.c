/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings, grids and graphs of processes. */
#include "bench/topology.h"

#include <ictus/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct topology_options, member)

static const struct spec_param no_params[] = {{NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

static const struct spec_param cart_params[] = {
    {"dimensions", SPEC_INT, AT(dimensions), "2", 1, DIMENSIONS_MAX, NULL,
     "dimensions of the grid, which MPI_Dims_create makes as equal as possible"},
    {"periodic", SPEC_BOOL, AT(periodic), "1", 0, 0, NULL, "whether opposite edges are joined"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

static const struct spec_param graph_params[] = {
    {"degree", SPEC_INT, AT(degree), "2", 1, 1e6, NULL,
     "how many of the following processes each one sends to"},
    {"file", SPEC_TEXT, AT(file), "", 0, 0, NULL, "edges, one on each line: FROM TO"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

static const char *const kind_names[] = {"ring", "cart", "graph", NULL};
static const struct spec_param *const kind_params[] = {no_params, cart_params, graph_params};

int ictusi_topology_read(const char *text, struct topology_options *options, struct ictus_why *why)
{
    struct spec spec;
    *options = (struct topology_options){.dimensions = 1, .periodic = true};
    int err = ictusi_spec_split(text ? text : kind_names[TOPOLOGY_RING], &spec, why);
    for (int i = 0; !err && kind_names[i]; i++) {
        if (strcmp(spec.name, kind_names[i]) == 0) {
            options->kind = (enum topology_kind)i;
            return ictusi_spec_read(&spec, kind_params[i], options, why);
        }
    }
    return err ? err : ictus_unknown(why, "topology", spec.name, kind_names);
}

static int topology_allocate(struct topology *t, int sources, int targets)
{
    t->source_count = sources;
    t->target_count = targets;
    /* One more entry, since calloc(0) may return NULL. */
    t->sources = calloc((size_t)sources + 1, sizeof(*t->sources));
    t->targets = calloc((size_t)targets + 1, sizeof(*t->targets));
    return t->sources && t->targets ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/*
 * The rank a number of steps along a dimension. Ranks are in row-major order: the last dimension
 * varies fastest.
 */
static int cart_rank(const struct topology *t, int rank, int dimension, int steps)
{
    int stride = 1;
    for (int d = t->dimensions - 1; d > dimension; d--) {
        stride *= t->dims[d];
    }
    const int length = t->dims[dimension];
    const int place = rank / stride % length;
    const int wanted = place + steps;
    if (!t->periodic && (wanted < 0 || wanted >= length)) {
        return MPI_PROC_NULL;
    }
    return rank + ((wanted + length) % length - place) * stride;
}

/*
 * In each dimension first the neighbour at -1, then the one at +1 (MPI-3.1, section 7.6). The block
 * from the neighbour at -1 is the one that it sent to its own neighbour at +1.
 */
static int topology_make_cart(struct topology *t, const struct topology_options *o, int rank,
                              int size)
{
    t->dimensions = (int)o->dimensions;
    t->periodic = o->periodic;
    if (MPI_Dims_create(size, t->dimensions, t->dims) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    const int err = topology_allocate(t, 2 * t->dimensions, 2 * t->dimensions);
    for (int slot = 0; slot < t->target_count && !err; slot++) {
        const int dimension = slot / 2;
        const int peer = cart_rank(t, rank, dimension, slot % 2 ? 1 : -1);
        t->targets[slot] = peer;
        /*
         * The neighbour at -1 sent the block for its +1 direction, which is slot + 1 there, and the
         * other way round. In a dimension of one or two processes both neighbours are the same
         * process, and only the slot tells the blocks apart.
         */
        t->sources[slot] = (struct source_neighbor){peer, {slot ^ 1}};
    }
    return err;
}

/*
 * Each process sends to the next `degree` ranks, and so receives from the previous ones. What comes
 * from rank - i - 1 is block i of that process.
 */
static int topology_make_regular(struct topology *t, int degree, int rank, int size,
                                 struct ictus_why *why)
{
    if (degree >= size) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "topology graph:degree=%d needs more than %d processes, but there "
                             "are %d",
                             degree, degree, size);
    }
    const int err = topology_allocate(t, degree, degree);
    for (int i = 0; i < degree && !err; i++) {
        t->targets[i] = (rank + i + 1) % size;
        t->sources[i] = (struct source_neighbor){(rank - i - 1 + size) % size, {i}};
    }
    return err;
}

/* The edges of a graph in the order of the file. */
struct edge_list {
    int (*edges)[2];
    size_t count;
};

static int edge_add(struct edge_list *list, int from, int to)
{
    if ((list->count & (list->count - 1)) == 0) { /* the capacity is doubled at each power of two */
        void *grown = realloc(list->edges, (list->count ? 2 * list->count : 1) * sizeof(int[2]));
        if (!grown) {
            return ICTUS_ERR_NOMEM;
        }
        list->edges = grown;
    }
    list->edges[list->count][0] = from;
    list->edges[list->count++][1] = to;
    return ICTUS_OK;
}

/* A line that is blank or a comment. */
static bool edge_is_absent(const char *line)
{
    const char *first = line + strspn(line, " \t\r\n");
    return *first == '\0' || *first == '#';
}

/* Reads "FROM TO" or "FROM,TO". */
static int edge_read(const char *line, int *from, int *to)
{
    char *end = NULL;
    const long first = strtol(line, &end, 10);
    const char *next = end + strspn(end, " \t,");
    if (end == line || next == end) {
        return ICTUS_ERR_FORMAT;
    }
    const long second = strtol(next, &end, 10);
    if (end == next || end[strspn(end, " \t\r\n")] || first < 0 || second < 0 ||
        first > INT32_MAX || second > INT32_MAX) {
        return ICTUS_ERR_FORMAT;
    }
    *from = (int)first;
    *to = (int)second;
    return ICTUS_OK;
}

static int edges_read(FILE *file, const char *path, int size, struct edge_list *list,
                      struct ictus_why *why)
{
    char line[256];
    int number = 0;
    while (fgets(line, sizeof(line), file)) {
        int from = 0;
        int to = 0;
        number++;
        if (edge_is_absent(line)) {
            continue;
        }
        if (edge_read(line, &from, &to)) {
            return ictus_because(why, ICTUS_ERR_FORMAT,
                                 "%.200s, line %d: an edge is two ranks: FROM TO", path, number);
        }
        if (from >= size || to >= size) {
            return ictus_because(why, ICTUS_ERR_ARG,
                                 "%.200s, line %d: edge %d %d: ranks must be below %d, the number "
                                 "of processes",
                                 path, number, from, to, size);
        }
        const int err = edge_add(list, from, to);
        if (err) {
            return err;
        }
    }
    return ICTUS_OK;
}

/* The index of the edge among its sender's blocks; -1 if the same edge was listed before. */
static int edge_slot(const struct edge_list *list, size_t edge)
{
    int slot = 0;
    for (size_t i = 0; i < edge; i++) {
        if (list->edges[i][0] == list->edges[edge][0]) {
            if (list->edges[i][1] == list->edges[edge][1]) {
                return -1;
            }
            slot++;
        }
    }
    return slot;
}

static int topology_take_edges(struct topology *t, const struct edge_list *list, const char *path,
                               int rank, struct ictus_why *why)
{
    int sources = 0;
    int targets = 0;
    for (size_t i = 0; i < list->count; i++) {
        targets += list->edges[i][0] == rank;
        sources += list->edges[i][1] == rank;
    }
    int err = topology_allocate(t, sources, targets);
    sources = targets = 0;
    for (size_t i = 0; i < list->count && !err; i++) {
        const int *edge = list->edges[i];
        const bool mine = edge[0] == rank || edge[1] == rank;
        const int slot = mine ? edge_slot(list, i) : 0;
        if (slot < 0) {
            err = ictus_because(why, ICTUS_ERR_FORMAT, "%.200s: edge %d %d is listed twice", path,
                                edge[0], edge[1]);
        } else if (edge[0] == rank) {
            t->targets[targets++] = edge[1];
        }
        if (!err && edge[1] == rank) {
            t->sources[sources++] = (struct source_neighbor){edge[0], {slot}};
        }
    }
    return err;
}

static int topology_make_listed(struct topology *t, const char *path, int rank, int size,
                                struct ictus_why *why)
{
    struct edge_list list = {NULL, 0};
    FILE *file = fopen(path, "r");
    if (!file) {
        return ictus_because(why, ICTUS_ERR_SPEC, "topology graph: cannot read '%.200s'", path);
    }
    int err = edges_read(file, path, size, &list, why);
    (void)fclose(file);
    if (!err && list.count == 0) {
        err = ictus_because(why, ICTUS_ERR_FORMAT, "%.200s: the file has no edges", path);
    }
    err = err ? err : topology_take_edges(t, &list, path, rank, why);
    free(list.edges);
    /* Any error in the file is reported as an error of the specification. */
    return err && err != ICTUS_ERR_NOMEM && err != ICTUS_ERR_ARG ? ICTUS_ERR_SPEC : err;
}

/* Among the blocks from one process, the one that has this many blocks with a lower slot. */
static int slot_with_below(const struct topology *t, int rank, int wanted)
{
    for (int k = 0; k < t->source_count; k++) {
        const int slot = t->sources[k].slot[SLOT_RIGHT];
        int below = 0;
        for (int l = 0; l < t->source_count; l++) {
            below += t->sources[l].rank == rank && t->sources[l].slot[SLOT_RIGHT] < slot;
        }
        if (t->sources[k].rank == rank && below == wanted) {
            return slot;
        }
    }
    return 0;
}

/* Fill in the other orders in which libraries may deliver the blocks from one process. */
static void topology_order(struct topology *t)
{
    for (int i = 0; i < t->source_count; i++) {
        struct source_neighbor *mine = &t->sources[i];
        int before = 0; /* blocks from the same process: received earlier, and in total */
        int all = 0;
        for (int k = 0; k < t->source_count; k++) {
            before += k < i && t->sources[k].rank == mine->rank;
            all += t->sources[k].rank == mine->rank;
        }
        const bool alone = all == 1;
        mine->slot[SLOT_ASCENDING] =
            alone ? mine->slot[SLOT_RIGHT] : slot_with_below(t, mine->rank, before);
        mine->slot[SLOT_DESCENDING] =
            alone ? mine->slot[SLOT_RIGHT] : slot_with_below(t, mine->rank, all - 1 - before);
    }
}

int ictusi_topology_init(struct topology *t, const struct topology_options *o, int rank, int size,
                         struct ictus_why *why)
{
    *t = (struct topology){.kind = o->kind};
    int err = ICTUS_OK;
    if (o->kind != TOPOLOGY_GRAPH) {
        err = topology_make_cart(t, o, rank, size);
    } else if (o->file.text[0]) {
        err = topology_make_listed(t, o->file.text, rank, size, why);
    } else {
        err = topology_make_regular(t, (int)o->degree, rank, size, why);
    }
    if (err) {
        ictusi_topology_fini(t);
    } else {
        topology_order(t);
    }
    return err;
}

#if defined(ICTUS_SIMGRID)
/* SimGrid's MPI has no neighbourhood collectives, so nothing reads the topology. */
static int topology_make_graph(const struct topology *t, MPI_Comm comm, MPI_Comm *made)
{
    (void)t;
    return MPI_Comm_dup(comm, made);
}
#else
static int topology_make_graph(const struct topology *t, MPI_Comm comm, MPI_Comm *made)
{
    const int most = t->source_count > t->target_count ? t->source_count : t->target_count;
    int *sources = calloc(2 * ((size_t)most + 1), sizeof(*sources));
    if (!sources) {
        return MPI_ERR_NO_MEM;
    }
    int *weights = sources + most + 1; /* all equal */
    for (int i = 0; i < most; i++) {
        weights[i] = 1;
    }
    for (int i = 0; i < t->source_count; i++) {
        sources[i] = t->sources[i].rank;
    }
    const int err =
        MPI_Dist_graph_create_adjacent(comm, t->source_count, sources, weights, t->target_count,
                                       t->targets, weights, MPI_INFO_NULL, 0, made);
    free(sources);
    return err;
}
#endif

int ictusi_topology_comm(const struct topology *t, MPI_Comm comm, MPI_Comm *made)
{
    if (t->kind == TOPOLOGY_GRAPH) {
        return topology_make_graph(t, comm, made);
    }
    int periods[DIMENSIONS_MAX];
    for (int d = 0; d < t->dimensions; d++) {
        periods[d] = t->periodic;
    }
    return MPI_Cart_create(comm, t->dimensions, t->dims, periods, 0, made);
}

void ictusi_topology_fini(struct topology *t)
{
    free(t->sources);
    free(t->targets);
    *t = (struct topology){.kind = TOPOLOGY_RING};
}
