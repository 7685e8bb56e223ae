/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated clusters: the written shape has the requested nodes, hops and hosts. */
#include "../check.h"

#include "simulate/simulate_platform.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 65536 };

static char directory[CHECK_PATH];
static char platform[128], hosts[128], given[128];

static size_t read_text(const char *path, char *text)
{
    FILE *file = fopen(path, "r");
    REQUIRE(file);
    const size_t length = fread(text, 1, TEXT_BYTES - 1, file);
    text[length] = '\0';
    (void)fclose(file);
    return length;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file && fputs(text, file) >= 0 && !fclose(file));
}

/* The number after a text that occurs once. */
static double number_after(const char *text, const char *before)
{
    const char *at = strstr(text, before);
    REQUIRE(at && !strstr(at + 1, before));
    return strtod(at + strlen(before), NULL);
}

static void jitters_are_read(void)
{
    static const struct {
        const char *text, *shape;
        double mean_s, tail, tail_s;
    } good[] = {{"none", "exp", 0, 0, 0},
                {"exp:300ns", "exp", 3e-7, 0, 0},
                {"gauss:1us,tail:1%:2us", "gauss", 1e-6, 0.01, 2e-6},
                {"tail:1:5us,lognormal:0s", "lognormal", 0, 1, 5e-6},
                {"uniform:2ms,tail:0:0s", "uniform", 2e-3, 0, 0}};
    static const char *const bad[] = {"exp",           "300ns",           "gamma:1us",
                                      "exp:x",         "exp:-1ns",        "exp:1us,tail:1",
                                      "tail:1.01:1us", "tail:-1%:1us",    "tail:1%:-1s",
                                      "exp:1us,tail",  "tail:1%:1us,exp", "tail:x:1us"};
    char longest[200];
    struct simulate_jitter jitter;
    struct ictus_why why;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        REQUIRE(simulate_jitter_read(good[i].text, &jitter, &why) == ICTUS_OK);
        CHECK_STR(jitter.shape, good[i].shape);
        CHECK_NEAR(jitter.mean_s, good[i].mean_s, 1e-18);
        CHECK_NEAR(jitter.tail, good[i].tail, 1e-15);
        CHECK_NEAR(jitter.tail_s, good[i].tail_s, 1e-18);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(simulate_jitter_read(bad[i], &jitter, &why) == ICTUS_ERR_SPEC);
        CHECK(strstr(why.text, bad[i]) && strstr(why.text, "must be none or SHAPE:TIME"));
    }
    (void)snprintf(longest, sizeof longest, "exp:1us,%0150d", 0);
    CHECK(simulate_jitter_read(longest, &jitter, &why) == ICTUS_ERR_SPEC);
    /* A value that is too long by one digit is refused, although it would be valid without it. */
    (void)snprintf(longest, sizeof longest, "exp:0.%0*d", 122, 0);
    CHECK(simulate_jitter_read(longest, &jitter, &why) == ICTUS_ERR_SPEC);
    longest[127] = '\0';
    CHECK(simulate_jitter_read(longest, &jitter, &why) == ICTUS_OK);
}

/* No smaller cluster of the shape would be enough; the latency is that of all hops together. */
static void torus_is_close(const char *text, double nodes, double wanted, double *hops)
{
    int x = 0, y = 0, z = 0;
    const char *at = strstr(text, "topology=\"TORUS\" topo_parameters=\"");
    REQUIRE(at && sscanf(at, "topology=\"TORUS\" topo_parameters=\"%d,%d,%d\"", &x, &y, &z) == 3);
    CHECK_NEAR(nodes, x * y * z, 0);
    CHECK(y >= 2); /* SimGrid aborts where two dimensions have one node each */
    wanted = wanted < 4 ? 4 : wanted;
    CHECK(x * y * (z - 1) < wanted && (x - 1) * (x - 1) * (x - 1) < wanted);
    CHECK(x >= y && y >= z);
    *hops = (x + y + z) / 4.0 + 1.0;
}

static void dragonfly_is_close(const char *text, double nodes, double wanted, double *hops)
{
    const double groups = number_after(text, "topology=\"DRAGONFLY\" topo_parameters=\"");
    CHECK(strstr(text, ",2;2,1;4,1;4\""));
    CHECK_NEAR(nodes, groups * 2 * 4 * 4, 0);
    CHECK(groups >= 2 && (groups <= 2 || (groups - 1) * 32 < wanted));
    *hops = 5;
}

static void tree_is_close(const char *text, double nodes, double wanted, double *hops)
{
    int below = 0, leaves = 0, spines = 0, links = 0;
    const char *at = strstr(text, "topology=\"FAT_TREE\" topo_parameters=\"");
    REQUIRE(at && sscanf(at, "topology=\"FAT_TREE\" topo_parameters=\"2;%d,%d;1,%d;1,%d\"", &below,
                         &leaves, &spines, &links) == 4);
    CHECK_NEAR(nodes, below * leaves, 0);
    CHECK(below * (leaves - 1) < wanted && (below - 1) * (below - 1) < wanted);
    CHECK(leaves <= below && links == 1 && spines == (below < 4 ? 1 : below / 2));
    *hops = 4;
}

static void cluster_is_as_asked(const struct simulate_cluster *c)
{
    static char text[TEXT_BYTES];
    struct ictus_why why;
    double hops = 0;
    REQUIRE(simulate_platform_write(c, platform, hosts, &why) == ICTUS_OK);
    (void)read_text(platform, text);
    const double nodes = number_after(text, "radical=\"0-") + 1;
    CHECK(nodes >= (double)c->nodes);
    if (strcmp(c->topology, "torus") == 0) {
        torus_is_close(text, nodes, (double)c->nodes, &hops);
    } else if (strcmp(c->topology, "dragonfly") == 0) {
        dragonfly_is_close(text, nodes, (double)c->nodes, &hops);
    } else {
        tree_is_close(text, nodes, (double)c->nodes, &hops);
    }
    CHECK_NEAR(number_after(text, " core=\""), (double)c->ppn, 0);
    CHECK_NEAR(number_after(text, " bw=\""), c->bandwidth, 0);
    CHECK_NEAR(number_after(text, " lat=\"") * hops, c->latency_s, 1e-15);
    CHECK_NEAR(number_after(text, " loopback_bw=\""), c->inside_bandwidth, 0);
    CHECK_NEAR(number_after(text, " loopback_lat=\""), c->latency_s / 5, 1e-15);
}

static void hosts_are(const char *wanted)
{
    static char text[TEXT_BYTES];
    (void)read_text(hosts, text);
    CHECK_STR(text, wanted);
}

static void clusters_are_as_asked(void)
{
    static const char *const topologies[] = {"fat-tree", "dragonfly", "torus"};
    static const int64_t counts[] = {1, 2, 3, 4, 5, 8, 9, 27, 31, 32, 33, 64, 65, 100, 125, 1000};
    struct simulate_cluster c = {
        .ppn = 1, .latency_s = 2e-6, .bandwidth = 1.25e10, .inside_bandwidth = 3e10};
    for (size_t t = 0; t < 3; t++) {
        c.topology = topologies[t];
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            c.nodes = counts[i];
            c.ppn = (int64_t)i % 3 + 1;
            cluster_is_as_asked(&c);
        }
    }
    c.nodes = 3;
    c.ppn = 2;
    cluster_is_as_asked(&c);
    hosts_are("node-0\nnode-0\nnode-1\nnode-1\nnode-2\nnode-2\n");
}

/*
 * Tags over several lines, both kinds of quotes, ranges and single numbers, in the order of the
 * file.
 */
static void given_hosts_are_found(void)
{
    static const char written[] =
        "<?xml version='1.0'?>\n<platform version=\"4.1\">\n"
        "<host speed='1Gf'\n\tid='login'/>\n"
        "<cluster id=\"c\" prefix=\"n\" suffix=\".x\"\n"
        " radical=\"0-2,5,7-10\" speed=\"1Gf\"/>\n"
        "<hostile id=\"none\"/><host id=\"open/><host id=\"last\"/>\n</platform>\n";
    static char copied[TEXT_BYTES];
    struct simulate_cluster c = {.nodes = 10, .ppn = 1, .topology = given};
    struct ictus_why why = {""};
    write_text(given, written);
    REQUIRE(simulate_platform_write(&c, platform, hosts, &why) == ICTUS_OK);
    hosts_are("login\nn0.x\nn1.x\nn2.x\nn5.x\nn7.x\nn8.x\nn9.x\nn10.x\nlast\n");
    (void)read_text(platform, copied);
    CHECK_STR(copied, written);
    c.nodes = 2;
    c.ppn = 2;
    REQUIRE(simulate_platform_write(&c, platform, hosts, &why) == ICTUS_OK);
    hosts_are("login\nlogin\nn0.x\nn0.x\n");
    c.nodes = 11;
    CHECK(simulate_platform_write(&c, platform, hosts, &why) == ICTUS_ERR_SPEC);
    CHECK(strstr(why.text, "has 10 hosts, but 11 nodes were asked for"));
    write_text(
        given,
        "<cluster prefix=\"h\" suffix=\"\" radical=\"9223372036854775805-9999999999999999999\"/>");
    c = (struct simulate_cluster){.nodes = 100, .ppn = 1, .topology = given};
    CHECK(simulate_platform_write(&c, platform, hosts, &why) == ICTUS_ERR_SPEC);
    CHECK(strstr(why.text, "has 2 hosts, but 100"));
}

static void nonsense_is_refused(void)
{
    struct ictus_why why = {""};
    struct simulate_cluster c = {.nodes = 2, .ppn = 1, .topology = "torsu"};
    CHECK(simulate_platform_write(&c, platform, hosts, &why) == ICTUS_ERR_SPEC);
    CHECK_STR(why.text, "unknown topology 'torsu'; did you mean 'torus'?");
    c.topology = ".xml";
    CHECK(simulate_platform_write(&c, platform, hosts, &why) == ICTUS_ERR_SPEC);
    c.topology = "/nowhere/p.xml";
    CHECK(simulate_platform_write(&c, platform, hosts, &why) == ICTUS_ERR_IO);
    CHECK(strstr(why.text, "cannot read the platform file /nowhere/p.xml"));
    c.topology = "torus";
    CHECK(simulate_platform_write(&c, "/nowhere/p", hosts, &why) == ICTUS_ERR_IO);
    CHECK(simulate_platform_write(&c, platform, "/nowhere/h", &why) == ICTUS_ERR_IO);
}

int main(void)
{
    REQUIRE(mkdtemp(check_scratch(directory, "platform")));
    (void)snprintf(platform, sizeof platform, "%s/platform", directory);
    (void)snprintf(hosts, sizeof hosts, "%s/hosts", directory);
    (void)snprintf(given, sizeof given, "%s/given.xml", directory);
    jitters_are_read();
    clusters_are_as_asked();
    given_hosts_are_found();
    nonsense_is_refused();
    (void)unlink(platform);
    (void)unlink(hosts);
    (void)unlink(given);
    CHECK(rmdir(directory) == 0);
    return check_result();
}
