/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HlHCA (H18 algorithm 4) with any number of levels. hierarchy(A,B) runs A between the nodes and B
 * inside each node. hierarchy(A,B,C) runs A between the nodes, B between the sockets of a node and
 * C inside each socket. Each level has its own algorithm. The communicators are created once.
 */
#include "sync/algorithms.h"
#include "sync/level.h"

#include <ictus/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUTS_MAX = LEVEL_KINDS };

struct hierarchy_options {
    struct spec_text levels;
};

static const struct spec_param params[] = {
    {"levels", SPEC_TEXT, offsetof(struct hierarchy_options, levels), "", 0, 0, NULL,
     "levels of the machine, outermost first: node+socket, node+numa+l3"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

struct hierarchy {
    enum level_kind cuts[CUTS_MAX];
    struct level levels[CUTS_MAX];
    int made; /* number of levels created so far */
};

static int hierarchy_read_cut(const char *word, enum level_kind *cut, struct ictus_why *why)
{
    for (int kind = 0; kind < LEVEL_KINDS; kind++) {
        if (strcmp(word, ictusi_level_names[kind]) == 0) {
            *cut = (enum level_kind)kind;
            return ICTUS_OK;
        }
    }
    (void)ictus_unknown(why, "level", word, ictusi_level_names);
    return ICTUS_ERR_SPEC;
}

/* There is one cut fewer than algorithms, because the last algorithm works inside the groups of
 * the innermost cut. */
static int hierarchy_read_cuts(struct hierarchy *h, const char *text, int wanted,
                               struct ictus_why *why)
{
    char copy[SPEC_TEXT_MAX + 1];
    (void)snprintf(copy, sizeof(copy), "%s", text);
    char *rest = copy;
    int count = 0;
    for (char *word = strtok_r(copy, "+", &rest); word; word = strtok_r(NULL, "+", &rest)) {
        if (count == wanted) {
            count++;
            break;
        }
        const int err = hierarchy_read_cut(word, &h->cuts[count], why);
        if (err) {
            return err;
        }
        count++;
    }
    if (count != wanted || h->cuts[0] != LEVEL_NODE) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "hierarchy: levels=%.80s: must be %d level%s, one less than there are "
                             "algorithms, and the first must be node",
                             text, wanted, wanted == 1 ? "" : "s");
    }
    return ICTUS_OK;
}

static int hierarchy_init(struct sync *sync, struct ictus_why *why)
{
    static const char *const usual[] = {"node", "node+socket", "node+socket+numa",
                                        "node+socket+numa+l3"};
    const struct hierarchy_options *options = sync->options;
    struct hierarchy *h = calloc(1, sizeof(*h));
    if (!h) {
        return ICTUS_ERR_NOMEM;
    }
    sync->state = h;
    const int wanted = sync->child_count - 1;
    const char *text = options->levels.text[0] ? options->levels.text : usual[wanted - 1];
    return hierarchy_read_cuts(h, text, wanted, why);
}

/* Done once for a communicator, because splitting 16384 ranks takes longer than a
 * synchronisation. */
static int hierarchy_make_levels(struct hierarchy *h, int wanted, MPI_Comm comm)
{
    while (h->made < wanted) {
        const MPI_Comm whole = h->made ? h->levels[h->made - 1].within : comm;
        const int err = ictusi_level_create(whole, h->cuts[h->made], &h->levels[h->made]);
        if (err) {
            return err;
        }
        h->made++;
    }
    return ICTUS_OK;
}

/* Run the algorithm of one level in a group of at least two processes. Then agree inside
 * `scope`, so that either all processes go on to the next level or none does. */
static int hierarchy_run_level(struct sync *child, struct sync_run *run, MPI_Comm group,
                               MPI_Comm scope)
{
    int err = ICTUS_OK;
    int size = 1;
    if (group != MPI_COMM_NULL) {
        PMPI_Comm_size(group, &size);
        if (size > 1) {
            err = ictusi_sync_run_inner(child, run, group, &run->line, &run->error);
        }
    }
    return ictusi_sync_agree(scope, err, &run->why);
}

/*
 * G is passed inwards, from the outermost level on. The lines that a level finds are the base of
 * the next one. The reference of each of its groups is the process that the level before has
 * synchronised. With L_i the line of that reference, a member's line is L_i composed with its own
 * line to the reference, and the variances add. The cost is the sum of the levels' times, because
 * all groups of a level run at the same time.
 */
static int hierarchy_run(struct sync *sync, struct sync_run *run)
{
    struct hierarchy *h = sync->state;
    const int cuts = sync->child_count - 1;
    int err = ictusi_sync_agree(run->comm, hierarchy_make_levels(h, cuts, run->comm), &run->why);
    run->line = run->base;
    run->error = run->base_error;
    for (int i = 0; i < cuts && !err; i++) {
        const MPI_Comm scope = i ? h->levels[i - 1].within : run->comm;
        err = hierarchy_run_level(sync->children[i], run, h->levels[i].between, scope);
    }
    if (!err) {
        const MPI_Comm innermost = h->levels[cuts - 1].within;
        err = hierarchy_run_level(sync->children[cuts], run, innermost, innermost);
    }
    return err;
}

static void hierarchy_fini(struct sync *sync)
{
    struct hierarchy *h = sync->state;
    while (h && h->made > 0) {
        ictusi_level_free(&h->levels[--h->made]);
    }
    free(h);
}

const struct sync_ops ictusi_sync_hierarchy = {
    .name = "hierarchy",
    .summary = "an algorithm of its own on each level of the machine (Hunold 2018)",
    .params = params,
    .options_size = sizeof(struct hierarchy_options),
    .children_min = 2,
    .children_max = CUTS_MAX + 1,
    .init = hierarchy_init,
    .run = hierarchy_run,
    .fini = hierarchy_fini,
};
