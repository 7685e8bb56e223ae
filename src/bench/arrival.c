/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrival patterns by name. */
#include "bench/arrival.h"

#include "core/random.h"
#include "core/spec.h"

#include <ictus/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"together", "ascending", "descending", "random",
                                    "late",     "file",      NULL};

struct arrival_options {
    double spread_s;
    int64_t rank;
    int64_t seed;
    struct spec_text path;
};

static const struct spec_param params[] = {
    {"spread", SPEC_SECONDS, offsetof(struct arrival_options, spread_s), "10us", 0, 10, NULL,
     "from the first to the last"},
    {"rank", SPEC_INT, offsetof(struct arrival_options, rank), "0", 0, 1e9, NULL, "the late one"},
    {"seed", SPEC_INT, offsetof(struct arrival_options, seed), "1", 0, 9e18, NULL, "of random"},
    {"path", SPEC_TEXT, offsetof(struct arrival_options, path), "", 0, 0, NULL,
     "one duration a line, rank by rank"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

enum { TABLE_MAX = 1 << 20, LINE_MAX_BYTES = 256 };

static int add_delay(struct arrival *a, double delay_s)
{
    double *grown = realloc(a->table_ns, ((size_t)a->table_size + 1) * sizeof(*grown));
    if (!grown) {
        return ICTUS_ERR_NOMEM;
    }
    a->table_ns = grown;
    a->table_ns[a->table_size++] = delay_s * 1e9;
    return ICTUS_OK;
}

static int read_lines(struct arrival *a, FILE *file, const char *path, struct ictus_why *why)
{
    char line[LINE_MAX_BYTES];
    int err = ICTUS_OK;
    while (!err && a->table_size < TABLE_MAX && fgets(line, sizeof(line), file)) {
        double delay_s = 0.0;
        line[strcspn(line, "\r\n")] = '\0';
        if (!line[0] || line[0] == '#') {
            continue;
        }
        err = ictus_parse_seconds(line, &delay_s);
        if (err || delay_s < 0.0 || delay_s > 10.0) {
            return ictus_because(why, ICTUS_ERR_SPEC,
                                 "%.100s: '%.40s' is no delay between 0 and 10s", path, line);
        }
        err = add_delay(a, delay_s);
    }
    if (!err && a->table_size == 0) {
        return ictus_because(why, ICTUS_ERR_SPEC, "%.100s holds no delay", path);
    }
    return err;
}

static int read_file(struct arrival *a, const char *path, struct ictus_why *why)
{
    if (!path[0]) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "arrival file wants a path: file:path=delays.txt");
    }
    FILE *file = fopen(path, "re");
    if (!file) {
        return ictus_because(why, ICTUS_ERR_SPEC, "cannot read '%.200s'", path);
    }
    const int err = read_lines(a, file, path, why);
    (void)fclose(file);
    return err;
}

bool ictusi_arrival_is_asked(const char *text)
{
    return text && strcmp(text, kinds[ARRIVE_TOGETHER]) != 0;
}

int ictusi_arrival_init(struct arrival *a, const char *text, int size, struct ictus_why *why)
{
    struct spec spec;
    struct arrival_options options;
    memset(a, 0, sizeof(*a));
    int err = ictusi_spec_split(text ? text : kinds[ARRIVE_TOGETHER], &spec, why);
    if (!err) {
        err = ictusi_spec_read(&spec, params, &options, why);
    }
    if (err) {
        return err;
    }
    int kind = 0;
    while (kinds[kind] && strcmp(kinds[kind], spec.name) != 0) {
        kind++;
    }
    if (!kinds[kind]) {
        return ictus_unknown(why, "arrival pattern", spec.name, kinds);
    }
    if (kind == ARRIVE_LATE && size > 0 && options.rank >= size) {
        return ictus_because(why, ICTUS_ERR_SPEC, "arrival late:rank=%lld: there are ranks 0 to %d",
                             (long long)options.rank, size - 1);
    }
    a->kind = (enum arrival_kind)kind;
    a->spread_ns = options.spread_s * 1e9;
    a->rank = options.rank;
    a->seed = (uint64_t)options.seed;
    err = a->kind == ARRIVE_FILE ? read_file(a, options.path.text, why) : ICTUS_OK;
    if (err) {
        ictusi_arrival_fini(a);
    }
    return err;
}

void ictusi_arrival_fini(struct arrival *a)
{
    free(a->table_ns);
    a->table_ns = NULL;
}

int64_t ictusi_arrival_delay(const struct arrival *a, int rank, int size, int64_t repetition)
{
    const double place = size > 1 ? (double)rank / (size - 1) : 0.0;
    struct rng rng;
    switch (a->kind) {
    case ARRIVE_ASCENDING:
        return (int64_t)(a->spread_ns * place);
    case ARRIVE_DESCENDING:
        return (int64_t)(a->spread_ns * (1.0 - place));
    case ARRIVE_RANDOM:
        ictusi_rng_seed(&rng, a->seed + (uint64_t)repetition, (uint64_t)rank);
        return (int64_t)(a->spread_ns * ictusi_rng_uniform(&rng));
    case ARRIVE_LATE:
        return rank == a->rank ? (int64_t)a->spread_ns : 0;
    case ARRIVE_FILE:
        return (int64_t)a->table_ns[rank < a->table_size ? rank : a->table_size - 1];
    default:
        return 0;
    }
}
