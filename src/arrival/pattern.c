/* SPDX-License-Identifier: BSD-3-Clause */
/* The names and sizes of patterns. */
#include "arrival/pattern.h"

#include "core/operands.h"
#include "core/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ictusi_pattern_traffic_add(struct traffic_sums *s, uint64_t sent, uint64_t received)
{
    s->sent += sent;
    s->received += received;
    s->most_sent = sent > s->most_sent ? sent : s->most_sent;
    s->most_received = received > s->most_received ? received : s->most_received;
}

/*
 * The tracer counts what a member moved, whereas a benchmark needs the count argument. At the root
 * of a rooted operation, the two differ by the number of members, so the largest value on the side
 * that all members have in common is used. If counts differ between members by design, the mean is
 * used. All sums are bytes over the n members of a call; most_ are the largest of a single member.
 * With MPI's count c and n members:
 *
 *     bcast, allreduce: each receives c;  scatter: each receives c, the root sends n c
 *     gather, reduce: each sends c;       all to all: received in all = n n c
 */
uint64_t ictusi_pattern_bytes(enum collective_op op, const struct traffic_sums *s, uint32_t n)
{
    switch (op) {
    case COLLECTIVE_BCAST:
    case COLLECTIVE_SCATTER:
    case COLLECTIVE_ALLREDUCE:
    case COLLECTIVE_SCAN:
    case COLLECTIVE_EXSCAN:
    case COLLECTIVE_REDUCE_SCATTER_BLOCK:
        return s->most_received;
    case COLLECTIVE_GATHER:
    case COLLECTIVE_REDUCE:
        return s->most_sent;
    case COLLECTIVE_GATHERV:
        return s->sent / n;
    case COLLECTIVE_SCATTERV:
    case COLLECTIVE_REDUCE_SCATTER:
        return s->received / n;
    case COLLECTIVE_BARRIER:
        return 0;
    default: /* all to all: a block for each member */
        return s->received / n / n;
    }
}

/* Without this, a program whose counts change from step to step would make one pattern per call. */
bool ictusi_pattern_varies(enum collective_op op)
{
    return op == COLLECTIVE_GATHERV || op == COLLECTIVE_SCATTERV || op == COLLECTIVE_ALLGATHERV ||
           collective_is_sparse((uint8_t)op) || op == COLLECTIVE_REDUCE_SCATTER;
}

void ictusi_pattern_operation(const char *call, enum collective_op op, char *text, size_t size)
{
    const char *name = strncmp(call, "MPI_", 4) == 0 ? call + 4 : call;
    if (strcmp(name, "Start") == 0 || strcmp(name, "Startall") == 0) {
        (void)snprintf(text, size, "%s_init", ictusi_collective_op_name(op));
        return;
    }
    (void)snprintf(text, size, "%s", name);
    for (char *c = text; *c; c++) {
        *c = (char)tolower((unsigned char)*c);
    }
}

void ictusi_pattern_describe(struct ictus_arrivals *a, const char *site, const char *call,
                             enum collective_op op, const char *comm)
{
    (void)snprintf(a->site, sizeof a->site, "%s", site);
    (void)snprintf(a->call, sizeof a->call, "%s", call);
    ictusi_pattern_operation(call, op, a->operation, sizeof a->operation);
    (void)snprintf(a->comm, sizeof a->comm, "%s", *comm ? comm : "(unnamed)");
    ictusi_utf8_mend(a->site);
    ictusi_utf8_mend(a->call);
    ictusi_utf8_mend(a->operation);
    ictusi_utf8_mend(a->comm);
}

void ictusi_pattern_operands(struct ictus_arrivals *a, uint32_t operands)
{
    const enum operands_place place = operands_place(operands);
    a->datatype = ictusi_operands_datatype(operands);
    a->op = ictusi_operands_reduction(operands);
    a->in_place = place == OPERANDS_PLACE_UNKNOWN ? -1 : place == OPERANDS_IN_PLACE;
}

/*
 * Number the patterns of a call site. A second one (with another communicator, operation or size)
 * is called SITE#2, a third one SITE#3, because files are searched by site. They are numbered in
 * the order of the list, which is by weight, so SITE is the heaviest. A longer name that begins
 * with this one counts as the same site only if a '#' follows.
 */
static void pattern_number(struct ictus_arrivals_list *list, size_t at)
{
    int same = 1;
    char *site = list->at[at].site;
    const size_t length = strlen(site);
    for (size_t i = 0; i < at; i++) {
        const char *other = list->at[i].site;
        same += strncmp(other, site, length) == 0 && (!other[length] || other[length] == '#');
    }
    if (same > 1) {
        (void)snprintf(site + length, ICTUS_ARRIVALS_TEXT - length, "#%d", same);
    }
}

struct pattern_weight {
    double ns;
    size_t at;
};

/*
 * Of two equal ones, the one seen first comes first, so that the order does not depend on the
 * sorting algorithm.
 */
static int patterns_by_weight(const void *a, const void *b)
{
    const struct pattern_weight *p = a;
    const struct pattern_weight *q = b;
    if (p->ns != q->ns) {
        return p->ns > q->ns ? -1 : 1;
    }
    return (p->at > q->at) - (p->at < q->at);
}

/*
 * weight and make belong to the source (an archive or a job's statistics), which keeps its sites in
 * a structure of its own, so only indices are sorted here. A pattern counts as made even if making
 * it failed, so that what it allocated is freed.
 */
int ictusi_pattern_list(const struct pattern_source *source, struct ictus_arrivals_list *list)
{
    const size_t n = source->count;
    struct pattern_weight *order = calloc(n + 1, sizeof *order);
    struct ictus_arrivals_list made = {calloc(n + 1, sizeof *made.at), 0};
    int err = order && made.at ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (size_t i = 0; i < n && !err; i++) {
        order[i] = (struct pattern_weight){source->weight(source->self, i), i};
    }
    if (!err) {
        qsort(order, n, sizeof *order, patterns_by_weight);
    }
    for (size_t i = 0; i < n && !err; i++) {
        err = source->make(source->self, order[i].at, &made.at[i]);
        made.count++;
        pattern_number(&made, i);
    }
    free(order);
    if (err) {
        ictus_arrivals_list_free(&made);
        return err;
    }
    *list = made;
    return ICTUS_OK;
}
