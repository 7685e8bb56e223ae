/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPICH's selection tree (MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE): objects whose only members
 * are conditions, tried in their order, down to an algorithm. MPICH aborts at a collective that the
 * tree lacks, so that the winners are put into a whole tree: the one that MPICH itself holds.
 */
#include "results/tune.h"

#include <ictus/select.h>
#include <ictus/text.h>

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* How MPICH's tree can ask for the size of a collective. */
struct collective {
    const char *name;
    const char *size; /* NULL: not at all */
    bool total;       /* counts the blocks of all processes */
};

/* MPICH counts elements, not bytes, in its totals of gather and scatter. */
static const struct collective collectives[] = {
    {"allgather", "total_msg_size", true},
    {"allgatherv", "total_msg_size", true},
    {"allreduce", "avg_msg_size", false},
    {"alltoall", "avg_msg_size", false},
    {"alltoallv", NULL, false},
    {"alltoallw", NULL, false},
    {"barrier", NULL, false},
    {"bcast", "avg_msg_size", false},
    {"exscan", NULL, false},
    {"gather", NULL, false},
    {"gatherv", NULL, false},
    {"reduce", "avg_msg_size", false},
    {"reduce_scatter", "total_msg_size", true},
    {"reduce_scatter_block", "total_msg_size", true},
    {"scan", NULL, false},
    {"scatter", NULL, false},
    {"scatterv", NULL, false},
};

enum { COLLECTIVES = sizeof(collectives) / sizeof(collectives[0]), KEY_MAX = 160 };

static const struct collective *tune_mpich_find_collective(const char *name)
{
    for (int i = 0; i < COLLECTIVES; i++) {
        if (strcmp(collectives[i].name, name) == 0) {
            return &collectives[i];
        }
    }
    return NULL;
}

/* One object with one member; steals the value. */
static json_t *tree_node(const char *key, json_t *value)
{
    json_t *object = json_object();
    (void)json_object_set_new(object, key, value);
    return object;
}

/* What a winner stands for; the library's own choice is its subtree. */
static json_t *tree_leaf(const struct winner *w, const json_t *own)
{
    char key[KEY_MAX];
    if (strcmp(tune_rule(w), ICTUS_ALGORITHM_DEFAULT) == 0) {
        return json_deep_copy(own);
    }
    const bool any = strcmp(w->algorithm, "nb") == 0 || strcmp(w->operation, "gatherv") == 0 ||
                     strcmp(w->operation, "scatterv") == 0;
    (void)snprintf(key, sizeof(key), "algorithm=MPIR_%c%s_%s_%s", toupper(w->operation[0]),
                   w->operation + 1, any ? "allcomm" : "intra", w->algorithm);
    return tree_node(key, json_object());
}

static bool tune_mpich_same_choice(const struct winner *a, const struct winner *b)
{
    return strcmp(tune_rule(a), tune_rule(b)) == 0;
}

/*
 * The tree of one process count: below the first size the library's own, then each winner, and far
 * above the last size the library's own again.
 */
static json_t *sizes_tree(const struct collective *collective, const struct winner *list,
                          size_t count, const json_t *own)
{
    char key[KEY_MAX];
    if (!collective->size) {
        return tree_leaf(&list[0], own);
    }
    json_t *tree = json_object();
    for (size_t i = 0; i <= count; i++) {
        if (i > 0 && i < count && tune_mpich_same_choice(&list[i - 1], &list[i])) {
            continue;
        }
        const json_int_t factor = collective->total ? list[0].processes : 1;
        if (i < count && list[i].bytes == 0) {
            continue;
        }
        (void)snprintf(key, sizeof(key), i < count ? "%s<%lld" : "%s=any", collective->size,
                       i < count ? (long long)(list[i].bytes * factor) : 0LL);
        if (i == count && list[i - 1].verdict == TUNE_RULE && list[i - 1].bytes > 0) {
            char last[KEY_MAX];
            (void)snprintf(last, sizeof(last), "%s<%lld", collective->size,
                           (long long)(list[i - 1].bytes * factor * TUNE_REACH));
            (void)json_object_set_new(tree, last, tree_leaf(&list[i - 1], own));
            (void)json_object_set_new(tree, key, json_deep_copy(own));
            continue;
        }
        (void)json_object_set_new(tree, key,
                                  i == 0 ? json_deep_copy(own) : tree_leaf(&list[i - 1], own));
    }
    return tree;
}

static bool tune_mpich_is_writable(const struct collective *collective, const struct winner *list,
                                   size_t count)
{
    for (size_t i = 0; collective && i < count; i++) {
        const bool alike = collective->size || list[i].processes != list[0].processes ||
                           tune_mpich_same_choice(&list[0], &list[i]);
        const json_int_t factor = collective->total ? list[i].processes : 1;
        if (!alike || list[i].bytes > INT_MAX / factor / TUNE_REACH) {
            return false;
        }
    }
    return collective != NULL;
}

/* Conditions over process counts: each measured one alone, the library's own choice for others. */
static json_t *processes_tree(const struct collective *collective, const struct winners *winners,
                              size_t first, size_t end, const json_t *own)
{
    char key[KEY_MAX];
    json_t *tree = json_object();
    json_int_t reached = 0;
    while (first < end) {
        const size_t next = tune_end(winners, first, true);
        const struct winner *list = &winners->list[first];
        if (list->processes > reached + 1) {
            (void)snprintf(key, sizeof(key), "comm_size<%lld", (long long)list->processes);
            (void)json_object_set_new(tree, key, json_deep_copy(own));
        }
        reached = list->processes;
        (void)snprintf(key, sizeof(key), "comm_size<=%lld", (long long)reached);
        (void)json_object_set_new(tree, key, sizes_tree(collective, list, next - first, own));
        first = next;
    }
    (void)json_object_set_new(tree, "comm_size=any", json_deep_copy(own));
    return tree;
}

/* The library's choice between processes of one communicator; NULL where the tree has none. */
static json_t *tune_mpich_own_choice(const json_t *branch)
{
    json_t *intra = json_object_get(branch, "comm_type=intra");
    return json_deep_copy(intra ? intra : branch);
}

static int tune_mpich_put_collective(const struct winners *winners, size_t first, size_t end,
                                     json_t *base, struct ictus_why *why)
{
    char key[KEY_MAX];
    const struct winner *w = &winners->list[first];
    const struct collective *collective = tune_mpich_find_collective(w->operation);
    (void)snprintf(key, sizeof(key), "collective=%s", w->operation);
    json_t *branch = json_object_get(base, key);
    if (!branch) {
        return ictus_because(why, ICTUS_ERR_FORMAT, "the base tree has no entry for %s",
                             w->operation);
    }
    json_t *own = tune_mpich_own_choice(branch);
    json_t *tree = processes_tree(collective, winners, first, end, own);
    json_decref(own);
    if (json_object_get(branch, "comm_type=intra")) {
        return json_object_set_new(branch, "comm_type=intra", tree) ? ICTUS_ERR_NOMEM : ICTUS_OK;
    }
    /* One branch for both kinds of communicators: part them. */
    json_t *parted = tree_node("comm_type=intra", tree);
    (void)json_object_set(parted, "comm_type=inter", branch);
    return json_object_set_new(base, key, parted) ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

int tune_write_mpich(const struct winners *winners, json_t *base, FILE *file, struct ictus_why *why)
{
    int err = ICTUS_OK;
    for (size_t i = 0; i < winners->count && !err;) {
        const size_t end = tune_end(winners, i, false);
        const struct winner *w = &winners->list[i];
        bool writable = true;
        for (size_t k = i; k < end; k = tune_end(winners, k, true)) {
            writable = writable &&
                       tune_mpich_is_writable(tune_mpich_find_collective(w->operation),
                                              &winners->list[k], tune_end(winners, k, true) - k);
        }
        if (!tune_has_rule(winners, i, end)) {
            i = end;
            continue;
        }
        if (writable) {
            err = tune_mpich_put_collective(winners, i, end, base, why);
        } else {
            (void)fprintf(stderr,
                          "ictus tune: left out: MPICH's tree cannot express a rule for %s\n",
                          w->operation);
        }
        i = end;
    }
    if (!err && (json_dumpf(base, file, JSON_INDENT(1)) || fputc('\n', file) == EOF)) {
        err = ICTUS_ERR_IO;
    }
    return err;
}

static bool tune_mpich_is_tree(const json_t *object)
{
    return json_object_get(object, "collective=bcast") &&
           json_object_get(object, "collective=barrier") &&
           json_object_get(object, "collective=ibarrier") &&
           json_object_get(object, "collective=ineighbor_alltoallw");
}

/* The first whole selection tree in a file's bytes: a library holds others, for its devices. */
static json_t *tune_mpich_find_tree(const char *bytes, size_t size)
{
    static const char opening[] = "\"collective=";
    const char *end = bytes + size;
    const char *at = bytes;
    while ((at = memchr(at, '{', (size_t)(end - at))) != NULL) {
        const char *key = at + 1;
        while (key < end && isspace((unsigned char)*key)) {
            key++;
        }
        if ((size_t)(end - key) > sizeof(opening) &&
            memcmp(key, opening, sizeof(opening) - 1) == 0) {
            json_t *object = json_loadb(at, (size_t)(end - at), JSON_DISABLE_EOF_CHECK, NULL);
            if (object && tune_mpich_is_tree(object)) {
                return object;
            }
            json_decref(object);
        }
        at++;
    }
    return NULL;
}

int tune_read_base(const char *path, json_t **base, struct ictus_why *why)
{
    FILE *file = fopen(path, "rbe");
    if (!file) {
        return ictus_because(why, ICTUS_ERR_ARG, "cannot read '%.200s': %s", path, strerror(errno));
    }
    long size = -1;
    if (fseek(file, 0, SEEK_END) == 0) {
        size = ftell(file);
        rewind(file);
    }
    char *bytes = size >= 0 ? malloc((size_t)size + 1) : NULL;
    const bool whole = bytes && fread(bytes, 1, (size_t)size, file) == (size_t)size;
    (void)fclose(file);
    *base = whole ? tune_mpich_find_tree(bytes, (size_t)size) : NULL;
    free(bytes);
    if (!whole) {
        return ictus_because(why, ICTUS_ERR_ARG, "cannot read '%.200s' to its end", path);
    }
    return *base ? ICTUS_OK
                 : ictus_because(why, ICTUS_ERR_FORMAT,
                                 "'%.200s' holds no complete selection tree of MPICH", path);
}
