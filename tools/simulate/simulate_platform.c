/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing SimGrid platforms. */
#include "simulate/simulate_platform.h"

#include <ictus/text.h>

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 4096 };

/* Latency inside a node, over that between nodes. */
static const double inside_share = 0.2;

static const char *const topologies[] = {"fat-tree", "dragonfly", "torus", NULL};
static const char *const shapes[] = {"exp", "erlang", "gauss", "lognormal", "uniform", NULL};

static bool simulate_platform_name_known(const char *const *names, const char *name)
{
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static int simulate_platform_read_tail(char *text, struct simulate_jitter *jitter)
{
    char *scale = strchr(text, ':');
    if (!scale) {
        return ICTUS_ERR_SPEC;
    }
    *scale++ = '\0';
    const int err = ictus_parse_ratio(text, &jitter->tail);
    return err || jitter->tail < 0.0 || jitter->tail > 1.0
               ? ICTUS_ERR_SPEC
               : ictus_parse_seconds(scale, &jitter->tail_s);
}

int simulate_jitter_read(const char *text, struct simulate_jitter *jitter, struct ictus_why *why)
{
    char copy[128];
    char *rest = NULL;
    const bool fits = snprintf(copy, sizeof(copy), "%s", text) < (int)sizeof(copy);
    int err = fits ? ICTUS_OK : ICTUS_ERR_SPEC;
    *jitter = (struct simulate_jitter){.shape = "exp"};
    const bool none = strcmp(text, "none") == 0;
    for (char *word = strtok_r(copy, ",", &rest); word && !none && !err;
         word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, ':');
        if (!value) {
            err = ICTUS_ERR_SPEC;
            break;
        }
        *value++ = '\0';
        if (strcmp(word, "tail") == 0) {
            err = simulate_platform_read_tail(value, jitter);
        } else if (simulate_platform_name_known(shapes, word)) {
            (void)snprintf(jitter->shape, sizeof(jitter->shape), "%.15s", word);
            err = ictus_parse_seconds(value, &jitter->mean_s);
        } else {
            err = ICTUS_ERR_SPEC;
        }
    }
    if (err || jitter->mean_s < 0.0 || jitter->tail_s < 0.0) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "--jitter=%.80s: must be none or SHAPE:TIME[,tail:SHARE:TIME], where "
                             "SHAPE is exp, erlang, gauss, lognormal or uniform",
                             text);
    }
    return ICTUS_OK;
}

/* The least whole number whose power is at least n: edges of a torus, leaves of a tree. */
static int64_t root_above(int64_t n, int power)
{
    int64_t root = 1;
    for (;;) {
        int64_t reached = 1;
        for (int i = 0; i < power; i++) {
            reached *= root;
        }
        if (reached >= n) {
            return root;
        }
        root++;
    }
}

static int64_t ceil_divide(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

/* SimGrid aborts on a torus of which two dimensions have one node each: 2 x 2 x 1 is the least. */
static const int64_t torus_least = 4;

/*
 * The cluster's shape, with at least as many nodes as asked, and the hops of the usual way between
 * two of them, over which the latency is shared out.
 */
static void cluster_describe(const struct simulate_cluster *c, char *text, size_t size,
                             int64_t *nodes, double *hops)
{
    if (strcmp(c->topology, "torus") == 0) {
        /* On a ring of x nodes the mean way is x / 4; one more hop leads into the node. */
        const int64_t wanted = c->nodes < torus_least ? torus_least : c->nodes;
        const int64_t x = root_above(wanted, 3);
        const int64_t y = root_above(ceil_divide(wanted, x), 2);
        const int64_t z = ceil_divide(wanted, x * y);
        *nodes = x * y * z;
        *hops = (double)(x + y + z) / 4.0 + 1.0;
        (void)snprintf(text, size,
                       "topology=\"TORUS\" topo_parameters=\"%" PRId64 ",%" PRId64 ",%" PRId64 "\"",
                       x, y, z);
    } else if (strcmp(c->topology, "dragonfly") == 0) {
        /* Four nodes a router, four routers a chassis, two chassis a group. */
        const int64_t groups = ceil_divide(c->nodes, 32) > 1 ? ceil_divide(c->nodes, 32) : 2;
        *nodes = groups * 32;
        *hops = 5.0;
        (void)snprintf(text, size,
                       "topology=\"DRAGONFLY\" topo_parameters=\"%" PRId64 ",2;2,1;4,1;4\"",
                       groups);
    } else {
        /* As many switches as nodes below each, and half as many spines: two to one at the top. */
        const int64_t below = root_above(c->nodes, 2);
        const int64_t leaves = ceil_divide(c->nodes, below);
        const int64_t spines = below > 2 ? below / 2 : 1;
        *nodes = below * leaves;
        *hops = 4.0;
        (void)snprintf(text, size,
                       "topology=\"FAT_TREE\" topo_parameters=\"2;%" PRId64 ",%" PRId64
                       ";1,%" PRId64 ";1,1\"",
                       below, leaves, spines);
    }
}

static int simulate_write_cluster(const struct simulate_cluster *c, FILE *platform, FILE *hosts)
{
    char shape[160];
    int64_t nodes = 0;
    double hops = 1.0;
    cluster_describe(c, shape, sizeof(shape), &nodes, &hops);
    (void)fprintf(platform,
                  "<?xml version='1.0'?>\n"
                  "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                  "<platform version=\"4.1\">\n"
                  "  <cluster id=\"cluster\" prefix=\"node-\" suffix=\"\" radical=\"0-%" PRId64
                  "\" speed=\"1Gf\" core=\"%" PRId64 "\"\n"
                  "    bw=\"%.17gBps\" lat=\"%.17gs\" loopback_bw=\"%.17gBps\" "
                  "loopback_lat=\"%.17gs\"\n    %s/>\n</platform>\n",
                  nodes - 1, c->ppn, c->bandwidth, c->latency_s / hops, c->inside_bandwidth,
                  c->latency_s * inside_share, shape);
    for (int64_t rank = 0; rank < c->nodes * c->ppn; rank++) {
        (void)fprintf(hosts, "node-%" PRId64 "\n", rank / c->ppn);
    }
    return ICTUS_OK;
}

/* The value of an attribute in a tag, copied; false where it is missing. */
static bool tag_attribute(const char *tag, const char *name, char *value, size_t size)
{
    char wanted[32];
    (void)snprintf(wanted, sizeof(wanted), " %s=\"", name);
    const char *start = strstr(tag, wanted);
    const char *end = start ? strchr(start + strlen(wanted), '"') : NULL;
    if (!end) {
        return false;
    }
    start += strlen(wanted);
    (void)snprintf(value, size, "%.*s", (int)(end - start), start);
    return true;
}

/* Hosts found so far, written once per process. */
struct host_list {
    FILE *file;
    int64_t wanted, found, ppn;
};

static void simulate_platform_add_host(struct host_list *list, const char *name)
{
    for (int64_t i = 0; i < list->ppn && list->found < list->wanted; i++) {
        (void)fprintf(list->file, "%s\n", name);
    }
    list->found++;
}

static void simulate_platform_add_cluster(struct host_list *list, const char *tag)
{
    char prefix[64] = "";
    char suffix[64] = "";
    char radical[256] = "";
    char *rest = NULL;
    (void)tag_attribute(tag, "prefix", prefix, sizeof(prefix));
    (void)tag_attribute(tag, "suffix", suffix, sizeof(suffix));
    (void)tag_attribute(tag, "radical", radical, sizeof(radical));
    for (char *part = strtok_r(radical, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        char *dash = strchr(part, '-');
        const long first = strtol(part, NULL, 10);
        const long end = dash ? strtol(dash + 1, NULL, 10) : first;
        const long last = end < LONG_MAX ? end : LONG_MAX - 1;
        for (long i = first; i <= last && list->found < list->wanted; i++) {
            char name[192];
            (void)snprintf(name, sizeof(name), "%s%ld%s", prefix, i, suffix);
            simulate_platform_add_host(list, name);
        }
    }
}

/* Host names of a platform file: its <host> and <cluster> tags, one a line or several lines each.
 */
static int simulate_platform_read_hosts(const struct simulate_cluster *c, FILE *file, FILE *hosts,
                                        struct ictus_why *why)
{
    struct host_list list = {.file = hosts, .wanted = c->nodes, .ppn = c->ppn};
    char tag[LINE_BYTES];
    int byte = 0;
    while ((byte = fgetc(file)) != EOF && list.found < list.wanted) {
        size_t length = 0;
        if (byte != '<') {
            continue;
        }
        while ((byte = fgetc(file)) != EOF && byte != '>' && length + 1 < sizeof(tag)) {
            tag[length++] = (char)(byte == '\n' || byte == '\t' ? ' ' : byte == '\'' ? '"' : byte);
        }
        tag[length] = '\0';
        char name[192];
        if (strncmp(tag, "host ", 5) == 0 && tag_attribute(tag, "id", name, sizeof(name))) {
            simulate_platform_add_host(&list, name);
        } else if (strncmp(tag, "cluster ", 8) == 0) {
            simulate_platform_add_cluster(&list, tag);
        }
    }
    if (list.found < list.wanted) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "%.160s has %" PRId64 " hosts, but %" PRId64 " nodes were asked for",
                             c->topology, list.found, list.wanted);
    }
    return ICTUS_OK;
}

static int platform_copy(const struct simulate_cluster *c, FILE *platform, FILE *hosts,
                         struct ictus_why *why)
{
    char bytes[LINE_BYTES];
    size_t n = 0;
    FILE *file = fopen(c->topology, "re");
    if (!file) {
        return ictus_because(why, ICTUS_ERR_IO, "cannot read the platform file %.200s",
                             c->topology);
    }
    while ((n = fread(bytes, 1, sizeof(bytes), file)) > 0) {
        (void)fwrite(bytes, 1, n, platform);
    }
    rewind(file);
    const int err = simulate_platform_read_hosts(c, file, hosts, why);
    (void)fclose(file);
    return err;
}

static int simulate_platform_write_files(const struct simulate_cluster *c, bool given,
                                         FILE *platform, FILE *hosts, struct ictus_why *why)
{
    if (!platform || !hosts) {
        return ICTUS_ERR_IO;
    }
    return given ? platform_copy(c, platform, hosts, why)
                 : simulate_write_cluster(c, platform, hosts);
}

static bool file_closes(FILE *file)
{
    return file && fclose(file) == 0;
}

int simulate_platform_write(const struct simulate_cluster *cluster, const char *platform,
                            const char *hosts, struct ictus_why *why)
{
    const size_t length = strlen(cluster->topology);
    const bool given = length > 4 && strcmp(cluster->topology + length - 4, ".xml") == 0;
    if (!given && !simulate_platform_name_known(topologies, cluster->topology)) {
        (void)ictus_unknown(why, "topology", cluster->topology, topologies);
        return ICTUS_ERR_SPEC;
    }
    FILE *platform_file = fopen(platform, "we");
    FILE *hosts_file = fopen(hosts, "we");
    const int err = simulate_platform_write_files(cluster, given, platform_file, hosts_file, why);
    const bool first = file_closes(platform_file);
    const bool second = file_closes(hosts_file);
    if (!err && (!first || !second)) {
        return ictus_because(why, ICTUS_ERR_IO, "cannot write %.200s", platform);
    }
    return err;
}
