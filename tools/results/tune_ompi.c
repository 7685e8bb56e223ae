/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI's dynamic rules file (coll_tuned_dynamic_rules_filename): nested counts, then lines of
 * "bytes algorithm fan-out segment". A rule holds from its size or process count up to the next
 * one's, and the first process count's for all smaller ones as well, so that each list begins with
 * algorithm 0, "as without a file", and each process count that was measured is followed by one
 * that ends it, as the largest size is: an algorithm may be slow elsewhere, or fail.
 *
 * Later versions read the same rules from JSON (Open MPI's pull request 13104), with ranges that
 * end where they say.
 */
#include "results/tune.h"

#include <ictus/select.h>
#include <ictus/text.h>

#include <string.h>

/*
 * What the sizes in a rule count, found out with Open MPI 4.1.4 by algorithms that do not exist. Of
 * scans it compares the datatype's size times the processes, whatever the count: of no use.
 */
enum measure {
    OF_A_BLOCK, /* count times datatype */
    OF_ALL,     /* that times the processes */
    OF_NOTHING  /* not the message */
};

struct collective {
    const char *name;
    int id; /* as Open MPI numbers its collectives */
    enum measure measure;
    const char *const *algorithms; /* algorithm 1 first */
};

static const char *const allgather[] = {
    "linear", "bruck", "recursive_doubling", "ring", "neighbor", "two_proc", NULL};
static const char *const allgatherv[] = {"basic_default", "bruck",    "ring",
                                         "neighbor",      "two_proc", NULL};
static const char *const allreduce[] = {"basic_linear",
                                        "nonoverlapping",
                                        "recursive_doubling",
                                        "ring",
                                        "segmented_ring",
                                        "rabenseifner",
                                        NULL};
static const char *const alltoall[] = {"linear",      "pairwise", "modified_bruck",
                                       "linear_sync", "two_proc", NULL};
static const char *const alltoallv[] = {"basic_linear", "pairwise", NULL};
static const char *const barrier[] = {
    "linear", "double_ring", "recursive_doubling", "bruck", "two_proc", "tree", NULL};
static const char *const bcast[] = {
    "basic_linear", "chain",   "pipeline",          "split_binary_tree",      "binary_tree",
    "binomial",     "knomial", "scatter_allgather", "scatter_allgather_ring", NULL};
static const char *const scans[] = {"linear", "recursive_doubling", NULL};
static const char *const gather[] = {"basic_linear", "binomial", "linear_sync", NULL};
static const char *const reduce[] = {"linear",   "chain",           "pipeline",     "binary",
                                     "binomial", "in-order_binary", "rabenseifner", NULL};
static const char *const reduce_scatter[] = {"non-overlapping", "recursive_halving", "ring",
                                             "butterfly", NULL};
static const char *const reduce_scatter_block[] = {"basic_linear", "recursive_doubling",
                                                   "recursive_halving", "butterfly", NULL};
static const char *const scatter[] = {"basic_linear", "binomial", "linear_nb", NULL};

static const struct collective collectives[] = {
    {"allgather", 0, OF_ALL, allgather},
    {"allgatherv", 1, OF_A_BLOCK, allgatherv},
    {"allreduce", 2, OF_A_BLOCK, allreduce},
    {"alltoall", 3, OF_ALL, alltoall},
    {"alltoallv", 4, OF_NOTHING, alltoallv},
    {"barrier", 6, OF_NOTHING, barrier},
    {"bcast", 7, OF_A_BLOCK, bcast},
    {"exscan", 8, OF_NOTHING, scans},
    {"gather", 9, OF_ALL, gather},
    {"reduce", 11, OF_A_BLOCK, reduce},
    {"reduce_scatter", 12, OF_ALL, reduce_scatter},
    {"reduce_scatter_block", 13, OF_ALL, reduce_scatter_block},
    {"scan", 14, OF_NOTHING, scans},
    {"scatter", 15, OF_ALL, scatter},
};

/* coll_tuned_*_chain_fanout's default, under which a chain was measured. */
enum { CHAINS = 4 };

enum { COLLECTIVES = sizeof(collectives) / sizeof(collectives[0]) };

static const struct collective *tune_ompi_find_collective(const char *name)
{
    for (int i = 0; i < COLLECTIVES; i++) {
        if (strcmp(collectives[i].name, name) == 0) {
            return &collectives[i];
        }
    }
    return NULL;
}

static int algorithm_number(const struct collective *collective, const char *name, int *number,
                            struct ictus_why *why)
{
    *number = 0;
    if (strcmp(name, ICTUS_ALGORITHM_DEFAULT) == 0) {
        return ICTUS_OK;
    }
    while (collective->algorithms[*number]) {
        if (strcmp(collective->algorithms[(*number)++], name) == 0) {
            return ICTUS_OK;
        }
    }
    return ictus_because(why, ICTUS_ERR_UNKNOWN, "Open MPI has no algorithm '%s' for %s", name,
                         collective->name);
}

static json_int_t rules_threshold(const struct collective *collective, const struct winner *w)
{
    switch (collective->measure) {
    case OF_A_BLOCK:
        return w->bytes;
    case OF_ALL:
        return w->bytes * w->processes;
    default:
        return 0;
    }
}

/*
 * The lines of one process count. With a NULL file they are only counted. Consecutive sizes with
 * one winner make one line.
 */
static int tune_ompi_put_sizes(const struct collective *collective, const struct winner *list,
                               size_t count, FILE *file, struct ictus_why *why)
{
    int lines = 0;
    int last = -1;
    if (rules_threshold(collective, &list[0]) > 0) {
        lines++;
        last = 0;
        if (file) {
            (void)fprintf(file, "0 0 0 0\n");
        }
    }
    for (size_t i = 0; i < count; i++) {
        int number = 0;
        const int err = algorithm_number(collective, tune_rule(&list[i]), &number, why);
        if (err) {
            return err;
        }
        if (number == last) {
            continue;
        }
        last = number;
        lines++;
        if (file) {
            const char *name = tune_rule(&list[i]);
            const bool chain = strcmp(name, "chain") == 0;
            (void)fprintf(file, "%lld %d %d 0 # %s\n",
                          (long long)rules_threshold(collective, &list[i]), number,
                          chain ? CHAINS : 0, name);
        }
    }
    const json_int_t end = rules_threshold(collective, &list[count - 1]) * TUNE_REACH;
    if (last != 0 && end > 0) {
        lines++;
        if (file) {
            (void)fprintf(file, "%lld 0 0 0 # larger than measured\n", (long long)end);
        }
    }
    return lines;
}

/* Whether a collective whose sizes do not count has one winner for all sizes, per process count. */
static bool tune_ompi_is_writable(const struct collective *collective,
                                  const struct winners *winners, size_t first)
{
    if (!collective) {
        return false;
    }
    const struct winner *list = winners->list;
    const size_t end = tune_end(winners, first, false);
    for (size_t i = first + 1; i < end && collective->measure == OF_NOTHING; i++) {
        if (list[i].processes == list[i - 1].processes &&
            strcmp(tune_rule(&list[i]), tune_rule(&list[i - 1])) != 0) {
            return false;
        }
    }
    return true;
}

static int tune_ompi_put_collective(const struct collective *collective,
                                    const struct winners *winners, size_t first, FILE *file,
                                    struct ictus_why *why)
{
    const size_t end = tune_end(winners, first, false);
    int counts = winners->list[first].processes > 1 ? 1 : 0;
    for (size_t i = first; i < end; i = tune_end(winners, i, true)) {
        const size_t next = tune_end(winners, i, true);
        const bool adjoins =
            next < end && winners->list[next].processes == winners->list[i].processes + 1;
        counts += adjoins ? 1 : 2;
    }
    (void)fprintf(file, "%d # %s\n%d # process counts\n", collective->id, collective->name, counts);
    if (winners->list[first].processes > 1) {
        (void)fprintf(file, "1 # processes: this and all below the first measured number\n"
                            "1\n"
                            "0 0 0 0\n");
    }
    for (size_t i = first; i < end;) {
        const size_t next = tune_end(winners, i, true);
        const struct winner *list = &winners->list[i];
        const int lines = tune_ompi_put_sizes(collective, list, next - i, NULL, why);
        if (lines < 0) {
            return lines;
        }
        (void)fprintf(file, "%lld # processes\n%d # sizes\n", (long long)list->processes, lines);
        (void)tune_ompi_put_sizes(collective, list, next - i, file, why);
        if (next == end || winners->list[next].processes != list->processes + 1) {
            (void)fprintf(file, "%lld # processes: not measured\n1\n0 0 0 0\n",
                          (long long)list->processes + 1);
        }
        i = next;
    }
    return ICTUS_OK;
}

/* Whether an operation is written: it has rules, and the file can say them. Else says why not. */
static bool tune_ompi_is_written(const struct winners *winners, size_t first)
{
    const struct winner *w = &winners->list[first];
    if (!tune_has_rule(winners, first, tune_end(winners, first, false))) {
        return false;
    }
    return tune_ompi_is_writable(tune_ompi_find_collective(w->operation), winners, first);
}

static int tune_ompi_count_written(const struct winners *winners)
{
    int operations = 0;
    for (size_t i = 0; i < winners->count; i = tune_end(winners, i, false)) {
        const bool written = tune_ompi_is_written(winners, i);
        operations += written;
        if (!written && tune_has_rule(winners, i, tune_end(winners, i, false))) {
            (void)fprintf(stderr,
                          "ictus tune: left out: Open MPI's rules cannot express this for %s\n",
                          winners->list[i].operation);
        }
    }
    return operations;
}

int tune_write_ompi(const struct winners *winners, FILE *file, struct ictus_why *why)
{
    int err = ICTUS_OK;
    (void)fprintf(file,
                  "# Open MPI: coll_tuned_use_dynamic_rules=1, "
                  "coll_tuned_dynamic_rules_filename=this file\n%d # collectives\n",
                  tune_ompi_count_written(winners));
    for (size_t i = 0; i < winners->count && !err; i = tune_end(winners, i, false)) {
        if (tune_ompi_is_written(winners, i)) {
            err = tune_ompi_put_collective(tune_ompi_find_collective(winners->list[i].operation),
                                           winners, i, file, why);
        }
    }
    return err ? err : ferror(file) ? ICTUS_ERR_IO : ICTUS_OK;
}

/* The winner's range of sizes, up to below the next winner's. */
static int tune_ompi_add_sizes(const struct collective *collective, const struct winner *list,
                               size_t count, json_t *rules, struct ictus_why *why)
{
    for (size_t i = 0; i < count;) {
        size_t next = i + 1;
        int number = 0;
        const char *name = tune_rule(&list[i]);
        const int err = algorithm_number(collective, name, &number, why);
        if (err) {
            return err;
        }
        while (next < count && strcmp(tune_rule(&list[next]), name) == 0) {
            next++;
        }
        json_t *rule = number > 0 ? json_object() : NULL;
        if (rule && collective->measure != OF_NOTHING) {
            (void)json_object_set_new(rule, "msg_size_min",
                                      json_integer(rules_threshold(collective, &list[i])));
            (void)json_object_set_new(
                rule, "msg_size_max",
                json_integer((next < count
                                  ? rules_threshold(collective, &list[next])
                                  : rules_threshold(collective, &list[next - 1]) * TUNE_REACH) -
                             1));
        }
        if (rule) {
            (void)json_object_set_new(
                rule, "alg", json_string(strcmp(name, "basic_default") == 0 ? "default" : name));
            if (strcmp(name, "chain") == 0) {
                (void)json_object_set_new(rule, "faninout", json_integer(CHAINS));
            }
            (void)json_array_append_new(rules, rule);
        }
        i = next;
    }
    return ICTUS_OK;
}

/* "reduce_scatter_block" is "reducescatterblock" there. */
static void json_name(const char *name, char *key)
{
    for (; *name; name++) {
        if (*name != '_') {
            *key++ = *name;
        }
    }
    *key = '\0';
}

static int tune_ompi_add_collective(const struct winners *winners, size_t first, json_t *into,
                                    struct ictus_why *why)
{
    char key[WINNER_NAME_MAX];
    const struct collective *collective = tune_ompi_find_collective(winners->list[first].operation);
    const size_t end = tune_end(winners, first, false);
    json_t *counts = json_array();
    int err = ICTUS_OK;
    for (size_t i = first; i < end && !err; i = tune_end(winners, i, true)) {
        const struct winner *w = &winners->list[i];
        const size_t next = tune_end(winners, i, true);
        if (!tune_has_rule(winners, i, next)) {
            continue;
        }
        json_t *rules = json_array();
        err = tune_ompi_add_sizes(collective, w, next - i, rules, why);
        (void)json_array_append_new(counts,
                                    json_pack("{s:I, s:I, s:o}", "comm_size_min", w->processes,
                                              "comm_size_max", w->processes, "rules", rules));
    }
    json_name(collective->name, key);
    (void)json_object_set_new(into, key, counts);
    return err;
}

int tune_write_ompi_json(const struct winners *winners, FILE *file, struct ictus_why *why)
{
    int err = ICTUS_OK;
    json_t *into = json_object();
    (void)tune_ompi_count_written(winners);
    for (size_t i = 0; i < winners->count && !err; i = tune_end(winners, i, false)) {
        if (tune_ompi_is_written(winners, i) &&
            strcmp(winners->list[i].operation, "allgatherv") == 0) {
            (void)fprintf(stderr,
                          "ictus tune: left out: the JSON format has no rules for allgatherv\n");
        } else if (tune_ompi_is_written(winners, i)) {
            err = tune_ompi_add_collective(winners, i, into, why);
        }
    }
    json_t *file_object = json_pack("{s:i, s:s, s:o}", "rule_file_version", 3, "module", "tuned",
                                    "collectives", into);
    if (!err && (!file_object || json_dumpf(file_object, file, JSON_INDENT(1)) ||
                 fputc('\n', file) == EOF)) {
        err = file_object ? ICTUS_ERR_IO : ICTUS_ERR_NOMEM;
    }
    json_decref(file_object);
    return err;
}
