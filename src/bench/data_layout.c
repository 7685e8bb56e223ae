/* SPDX-License-Identifier: BSD-3-Clause */
/* Contiguous blocks, vectors, indexed blocks and resized elements. */
#include "bench/data_layout.h"

#include "core/random.h"
#include "core/spec.h"

#include <ictus/text.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct data_layout_options, member)

enum { STRIDE_MAX = 1000000 };

static const struct spec_param no_params[] = {{NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

static const struct spec_param vector_params[] = {
    {"block", SPEC_INT, AT(block), "8", 1, STRIDE_MAX, NULL, "elements without a gap"},
    {"stride", SPEC_INT, AT(stride), "16", 1, STRIDE_MAX, NULL,
     "distance between the beginnings of blocks, in elements"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

static const struct spec_param indexed_params[] = {
    {"block", SPEC_INT, AT(block), "8", 1, STRIDE_MAX, NULL, "elements without a gap, on average"},
    {"stride", SPEC_INT, AT(stride), "16", 1, STRIDE_MAX, NULL,
     "mean distance between the beginnings of blocks, in elements"},
    {"seed", SPEC_INT, AT(seed), "1", 0, 9e18, NULL, "seed of the lengths"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

static const struct spec_param resized_params[] = {{"stride", SPEC_INT, AT(stride), "2", 1,
                                                    STRIDE_MAX, NULL,
                                                    "distance between elements, in elements"},
                                                   {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

static const char *const kind_names[] = {"contiguous", "vector", "indexed", "resized", NULL};
static const struct spec_param *const kind_params[] = {no_params, vector_params, indexed_params,
                                                       resized_params};

/*
 * A stride smaller than the block would make elements overlap, and MPI does not define receiving
 * into overlapping elements.
 */
int ictusi_data_layout_read(const char *text, struct data_layout_options *options,
                            struct ictus_why *why)
{
    struct spec spec;
    *options = (struct data_layout_options){.block = 1, .stride = 1};
    int err = ictusi_spec_split(text ? text : kind_names[LAYOUT_CONTIGUOUS], &spec, why);
    int kind = 0;
    while (!err && kind_names[kind] && strcmp(spec.name, kind_names[kind]) != 0) {
        kind++;
    }
    if (!err && !kind_names[kind]) {
        return ictus_unknown(why, "layout", spec.name, kind_names);
    }
    options->kind = (enum data_layout_kind)kind;
    err = err ? err : ictusi_spec_read(&spec, kind_params[kind], options, why);
    if (!err && options->stride < options->block) {
        err = ictus_because(why, ICTUS_ERR_SPEC,
                            "layout %s: stride=%lld is less than block=%lld: blocks must not "
                            "overlap",
                            spec.name, (long long)options->stride, (long long)options->block);
    }
    return err;
}

/*
 * Draw run lengths uniformly from 1 to 2 block - 1, and gaps from 0 to 2 (stride - block):
 *       mean length = (1 + (2 block - 1)) / 2 = block,   mean gap = stride - block
 */
static void layout_draw(struct data_layout *layout, const struct data_layout_options *o)
{
    struct rng rng;
    struct data_layout_run next = {0, 0};
    /*
     * The seed is the same on all processes, since their blocks must be alike. The means are block
     * and stride, so the density is that of the vector with the same parameters.
     */
    ictusi_random_seed(&rng, (uint64_t)o->seed, 0);
    layout->run_count = LAYOUT_RUNS;
    for (int i = 0; i < LAYOUT_RUNS; i++) {
        const int64_t length = 1 + (int64_t)ictusi_random_below(&rng, (uint64_t)(2 * o->block - 1));
        const int64_t gap =
            (int64_t)ictusi_random_below(&rng, (uint64_t)(2 * (o->stride - o->block) + 1));
        layout->runs[i] = next;
        next.first += length;
        next.offset += length + gap;
    }
    layout->runs[LAYOUT_RUNS] = next;
}

/*
 * A block must be a whole number of vector blocks, because MPI_Type_vector cannot describe a part
 * of one.
 */
int ictusi_data_layout_init(struct data_layout *layout, const struct data_layout_options *o,
                            int64_t elements, size_t element, struct ictus_why *why)
{
    *layout = (struct data_layout){.kind = o->kind, .elements = elements, .element = element};
    layout->run_count = 1;
    /*
     * All kinds except indexed have a single run, and this entry is where the next repetition
     * begins.
     */
    layout->runs[1] = (struct data_layout_run){o->kind == LAYOUT_RESIZED ? 1 : o->block, o->stride};
    if (o->kind == LAYOUT_INDEXED) {
        layout_draw(layout, o);
    }
    if (o->kind == LAYOUT_VECTOR && elements % o->block != 0) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "layout vector: %lld elements are not a multiple of block=%lld",
                             (long long)elements, (long long)o->block);
    }
    layout->extent = ictusi_data_layout_offset(layout, elements);
    if (o->kind != LAYOUT_CONTIGUOUS && layout->extent / element > INT_MAX) {
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                             "a block of %lld elements with gaps spans more than %d elements, the "
                             "limit of a datatype's displacements",
                             (long long)elements, INT_MAX);
    }
    return ICTUS_OK;
}

/*
 * In bytes from the beginning of the block. At most LAYOUT_RUNS runs are searched for the one that
 * holds the element.
 */
size_t ictusi_data_layout_offset(const struct data_layout *layout, int64_t i)
{
    if (layout->kind == LAYOUT_CONTIGUOUS) {
        return (size_t)i * layout->element;
    }
    const struct data_layout_run *end = &layout->runs[layout->run_count];
    /*
     * The runs repeat every end->first elements, which take end->offset places. `within` is the
     * element's position in its repetition.
     */
    const int64_t within = i % end->first;
    int run = layout->run_count - 1;
    while (layout->runs[run].first > within) {
        run--;
    }
    const struct data_layout_run *r = &layout->runs[run];
    return (size_t)(i / end->first * end->offset + r->offset + within - r->first) * layout->element;
}

/* Lengths and displacements are in elements and share one allocation, lengths first. */
static int layout_make_indexed(const struct data_layout *layout, MPI_Datatype element,
                               MPI_Datatype *type)
{
    /* Repeat the runs until they hold all elements. The last run is cut to fit. */
    const int64_t most =
        (layout->elements / layout->runs[layout->run_count].first + 1) * layout->run_count;
    int *lengths = calloc(2 * (size_t)most, sizeof(*lengths));
    int count = 0;
    if (!lengths) {
        return MPI_ERR_NO_MEM;
    }
    int *offsets = lengths + most;
    for (int64_t i = 0; i < layout->elements; count++) {
        const struct data_layout_run *run = &layout->runs[count % layout->run_count];
        const int64_t length = run[1].first - run[0].first;
        const int64_t left = layout->elements - i;
        lengths[count] = (int)(length < left ? length : left);
        offsets[count] = (int)(ictusi_data_layout_offset(layout, i) / layout->element);
        i += lengths[count];
    }
    const int err = MPI_Type_indexed(count, lengths, offsets, element, type);
    free(lengths);
    return err;
}

/*
 * The type is resized, so that the next block begins after the last gap, layout->extent bytes on.
 * MPI's own extent of a vector ends with its last element.
 */
int ictusi_data_layout_type(const struct data_layout *layout, MPI_Datatype element, int *count,
                            MPI_Datatype *type)
{
    MPI_Datatype bare = element;
    MPI_Aint extent = (MPI_Aint)layout->extent;
    const struct data_layout_run *run = &layout->runs[1]; /* block length and stride of a vector */
    int err = MPI_SUCCESS;
    *count = 1;
    if (layout->kind == LAYOUT_RESIZED) {
        *count = (int)layout->elements;
        extent = (MPI_Aint)run->offset * (MPI_Aint)layout->element;
    } else if (layout->kind == LAYOUT_VECTOR) {
        err = MPI_Type_vector((int)(layout->elements / run->first), (int)run->first,
                              (int)run->offset, element, &bare);
    } else {
        err = layout_make_indexed(layout, element, &bare);
    }
    if (err == MPI_SUCCESS) {
        err = MPI_Type_create_resized(bare, 0, extent, type);
    }
    if (err == MPI_SUCCESS) {
        err = MPI_Type_commit(type);
    }
    if (bare != element) {
        MPI_Type_free(&bare);
    }
    return err;
}
