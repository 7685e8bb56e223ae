/* SPDX-License-Identifier: BSD-3-Clause */
/* The registry of synchronisation algorithms, and functions that all of them use. */
#include "sync/sync.h"

#include "sync/algorithms.h"

#include <ictus/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct sync_ops *const registry[] = {
    &ictusi_sync_mesh,
    &ictusi_sync_hca3,
    &ictusi_sync_hca3_offset,
    &ictusi_sync_hca2,
    &ictusi_sync_hca,
    &ictusi_sync_jk,
    &ictusi_sync_netgauge,
    &ictusi_sync_skampi,
    &ictusi_sync_hierarchy,
    &ictusi_sync_propagate,
    NULL,
};

enum { REGISTRY_SIZE = sizeof(registry) / sizeof(registry[0]) };

const struct sync_ops *const *ictusi_sync_registry(void)
{
    return registry;
}

static const struct sync_ops *sync_find(const char *name, struct ictus_why *why)
{
    const char *names[REGISTRY_SIZE] = {NULL};
    for (int i = 0; registry[i]; i++) {
        names[i] = registry[i]->name;
        if (strcmp(name, registry[i]->name) == 0) {
            return registry[i];
        }
    }
    (void)ictus_unknown(why, "algorithm", name, names);
    return NULL;
}

/* Each algorithm in parentheses, as in hierarchy(mesh,propagate(hca3)), is created from its own
 * text. */
static int sync_create_children(struct sync *sync, const struct spec *spec, struct ictus_why *why)
{
    const struct sync_ops *ops = sync->ops;
    if (spec->child_count < ops->children_min || spec->child_count > ops->children_max) {
        return ops->children_max == 0
                   ? ictus_because(why, ICTUS_ERR_SPEC, "%s takes no algorithms in parentheses",
                                   ops->name)
                   : ictus_because(why, ICTUS_ERR_SPEC,
                                   "%s needs %d to %d algorithms in parentheses", ops->name,
                                   ops->children_min, ops->children_max);
    }
    for (int i = 0; i < spec->child_count; i++) {
        const int err = ictusi_sync_create(spec->children[i].text, &sync->children[i], why);
        if (err) {
            return err;
        }
        sync->child_count++;
    }
    return ICTUS_OK;
}

/* The size of the options is never 0, because malloc(0) may return NULL. */
static int sync_fill(struct sync *sync, const struct spec *spec, struct ictus_why *why)
{
    sync->options = calloc(1, sync->ops->options_size + 1);
    if (!sync->options) {
        return ICTUS_ERR_NOMEM;
    }
    int err = ictusi_spec_read(spec, sync->ops->params, sync->options, why);
    if (!err) {
        err = sync_create_children(sync, spec, why);
    }
    if (!err && sync->ops->init) {
        err = sync->ops->init(sync, why);
    }
    return err;
}

int ictusi_sync_create(const char *text, struct sync **out, struct ictus_why *why)
{
    struct spec spec;
    int err = ictusi_spec_split(text, &spec, why);
    if (err) {
        return err;
    }
    const struct sync_ops *ops = sync_find(spec.name, why);
    if (!ops) {
        return ICTUS_ERR_UNKNOWN;
    }
    struct sync *sync = calloc(1, sizeof(*sync));
    if (!sync) {
        return ICTUS_ERR_NOMEM;
    }
    sync->ops = ops;
    err = sync_fill(sync, &spec, why);
    if (err) {
        ictusi_sync_free(sync);
        return err;
    }
    *out = sync;
    return ICTUS_OK;
}

void ictusi_sync_free(struct sync *sync)
{
    if (!sync) {
        return;
    }
    if (sync->ops->fini) {
        sync->ops->fini(sync);
    }
    for (int i = 0; i < sync->child_count; i++) {
        ictusi_sync_free(sync->children[i]);
    }
    free(sync->options);
    free(sync);
}

/*
 * Run an algorithm as a part of another one: on a communicator of its own, from the line and the
 * error that the outer one has reached so far. The inner counts start from those of the outer run,
 * so that the results are sums.
 */
int ictusi_sync_run_inner(struct sync *sync, struct sync_run *outer, MPI_Comm comm,
                          const struct line *base, const struct line_error *base_error)
{
    struct sync_run inner = *outer;
    inner.comm = comm;
    inner.base = *base;
    inner.base_error = *base_error;
    const int err = ictusi_sync_run(sync, &inner);
    outer->line = inner.line;
    outer->error = inner.error;
    outer->exchanges = inner.exchanges;
    outer->messages = inner.messages;
    outer->steps = inner.steps;
    outer->why = inner.why;
    return err;
}

/* Collective algorithms fail collectively: if a single rank returned, the others would wait for
 * its next message forever. This runs outside any timing and takes 2 log2 p messages in a row. */
int ictusi_sync_agree(MPI_Comm comm, int err, struct ictus_why *why)
{
    struct {
        int failed;
        int rank;
    } mine = {err ? 0 : 1, 0}, first;
    PMPI_Comm_rank(comm, &mine.rank);
    /* MPI_MINLOC finds the lowest rank that failed, so that all ranks report the same reason.
     * Success takes one collective, failure two. */
    if (PMPI_Allreduce(&mine, &first, 1, MPI_2INT, MPI_MINLOC, comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    if (first.failed) {
        return ICTUS_OK;
    }
    /* Zeroed as a whole, because the padding would otherwise be sent uninitialised. */
    struct {
        int err;
        struct ictus_why why;
    } reason;
    memset(&reason, 0, sizeof(reason));
    reason.err = err;
    if (why) {
        reason.why = *why;
    }
    if (PMPI_Bcast(&reason, (int)sizeof(reason), MPI_BYTE, first.rank, comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    if (why) {
        *why = reason.why;
    }
    return reason.err;
}
