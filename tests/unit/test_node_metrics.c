/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of nodes: each node's numbers under its name, in seconds, and never half of a file. */
#include "../check.h"

#include "clocks/node_metrics.h"

#include <ictus/error.h>
#include <ictus/text.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NODES = 2, NAME_BYTES = 32 };

static char directory[CHECK_PATH];
static const char names[NODES][NAME_BYTES] = {"node-a", "odd \"b\\c\nd"};

static struct ictus_node_check nodes[NODES] = {
    {.rtt_ns = 2500.0, .drift = 1.25e-5, .step_ns = -3e6, .faults = 0},
    {.rtt_ns = 123456789.0, .drift = -2e-6, .step_ns = 0.5, .faults = 6},
};

static const struct ictus_checkup found = {
    .node_count = NODES, .nodes = nodes, .link_count = 3, .duration_s = 1.5};

static const char wanted[] =
    "# HELP ictus_node_round_trip_seconds Round trip between two nodes like this one.\n"
    "# TYPE ictus_node_round_trip_seconds gauge\n"
    "ictus_node_round_trip_seconds{node=\"node-a\",rank=\"0\"} 2.5e-06\n"
    "ictus_node_round_trip_seconds{node=\"odd \\\"b\\\\c d\",rank=\"1\"} 0.123456789\n"
    "# HELP ictus_node_clock_drift_ratio Rate of the node's clock relative to the median rate.\n"
    "# TYPE ictus_node_clock_drift_ratio gauge\n"
    "ictus_node_clock_drift_ratio{node=\"node-a\",rank=\"0\"} 1.25e-05\n"
    "ictus_node_clock_drift_ratio{node=\"odd \\\"b\\\\c d\",rank=\"1\"} -2e-06\n"
    "# HELP ictus_node_clock_step_seconds Change of the clock that its rate does not explain.\n"
    "# TYPE ictus_node_clock_step_seconds gauge\n"
    "ictus_node_clock_step_seconds{node=\"node-a\",rank=\"0\"} -0.003\n"
    "ictus_node_clock_step_seconds{node=\"odd \\\"b\\\\c d\",rank=\"1\"} 5e-10\n"
    "# HELP ictus_node_out_of_line Whether anything is wrong with the node.\n"
    "# TYPE ictus_node_out_of_line gauge\n"
    "ictus_node_out_of_line{node=\"node-a\",rank=\"0\"} 0\n"
    "ictus_node_out_of_line{node=\"odd \\\"b\\\\c d\",rank=\"1\"} 1\n"
    "# HELP ictus_bad_links Links that are slower than their two nodes explain.\n"
    "# TYPE ictus_bad_links gauge\n"
    "ictus_bad_links 3\n"
    "# HELP ictus_checkup_duration_seconds How long the checkup took.\n"
    "# TYPE ictus_checkup_duration_seconds gauge\n"
    "ictus_checkup_duration_seconds 1.5\n";

static void file_holds(const char *path, const char *text)
{
    char held[4096] = "";
    FILE *file = fopen(path, "r");
    REQUIRE(file);
    held[fread(held, 1, sizeof(held) - 1, file)] = '\0';
    (void)fclose(file);
    CHECK_STR(held, text);
}

static int metrics_write(const char *path, struct ictus_why *why)
{
    return node_metrics_write(path, &found, names[0], NAME_BYTES, why);
}

/* A pipe or a device is written to, never replaced, and never removed. */
static void pipes_stay(const char *path)
{
    struct stat status;
    struct ictus_why why;
    char heard[4096] = "";
    REQUIRE(mkfifo(path, 0600) == 0);
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    REQUIRE(fd >= 0 && !metrics_write(path, &why));
    CHECK(read(fd, heard, sizeof(heard) - 1) == (ssize_t)strlen(wanted));
    CHECK_STR(heard, wanted);
    CHECK(lstat(path, &status) == 0 && S_ISFIFO(status.st_mode));
    (void)close(fd);
    (void)remove(path);
    (void)snprintf(heard, sizeof(heard), "%s/full", directory);
    if (access("/dev/full", W_OK) == 0 && symlink("/dev/full", heard) == 0) {
        CHECK(metrics_write(heard, &why) == ICTUS_ERR_IO && strstr(why.text, "No space left"));
        CHECK(lstat(heard, &status) == 0 && S_ISLNK(status.st_mode));
        (void)remove(heard);
    }
}

/*
 * Of a path that has no room for its ending nothing is written, not even to a file of a shorter
 * name. The longest one that has room is tried.
 */
static void long_paths_are_not_cut(void)
{
    enum { ROOM = 4096, LONGEST = ROOM - 1 - 5 }; /* ".part" */
    char path[ROOM];
    struct ictus_why why;
    const size_t begins = (size_t)snprintf(path, sizeof(path), "%s", directory);
    for (int length = LONGEST; length <= LONGEST + 1; length++) {
        memset(path + begins, '/', sizeof(path) - begins);
        (void)snprintf(path + length - 1, 2, "m");
        errno = EXDEV; /* of an earlier call, which says nothing about this one */
        const int err = metrics_write(path, &why);
        CHECK(err == (length == LONGEST ? ICTUS_OK : ICTUS_ERR_IO));
        CHECK(length == LONGEST || strstr(why.text, ": too long"));
        CHECK((remove(path) == 0) == (length == LONGEST)); /* and no other is left for rmdir() */
    }
}

int main(void)
{
    char path[128];
    char beside[160];
    char nowhere[CHECK_PATH + 16];
    static char long_path[5000];
    struct ictus_why why;
    REQUIRE(mkdtemp(check_scratch(directory, "metrics")));
    (void)snprintf(path, sizeof(path), "%s/metrics", directory);
    (void)snprintf(beside, sizeof(beside), "%s.part", path);
    (void)snprintf(nowhere, sizeof(nowhere), "%s/none/metrics", directory);
    for (int turn = 0; turn < 2; turn++) { /* the second one replaces the first one */
        REQUIRE(!metrics_write(path, &why));
        file_holds(path, wanted);
        CHECK(access(beside, F_OK) != 0);
    }
    CHECK(metrics_write(nowhere, &why) == ICTUS_ERR_IO && strstr(why.text, "--metrics="));
    memset(long_path, 'x', sizeof(long_path) - 1);
    CHECK(metrics_write(long_path, &why) == ICTUS_ERR_IO && strstr(why.text, "too long"));
    if (access("/dev/full", W_OK) == 0) { /* on a full disk the old file stays, and no other */
        REQUIRE(symlink("/dev/full", beside) == 0);
        CHECK(metrics_write(path, &why) == ICTUS_ERR_IO);
        file_holds(path, wanted);
        CHECK(access(beside, F_OK) != 0);
    }
    (void)remove(path);
    pipes_stay(path);
    long_paths_are_not_cut();
    CHECK(rmdir(directory) == 0);
    return check_result();
}
