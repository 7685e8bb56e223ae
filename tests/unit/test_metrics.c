/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the lock publishes for others: ClockBound's segment, and the Prometheus endpoint with many
 * clients. The clock stands still until the test moves it.
 */
#include "lock/clockbound.h"
#include "lock/metrics.h"

#include "daemon.h"

#include <fcntl.h>
#include <ictus/time.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

enum { CLIENTS = 60 };

/* The time on the kernel's clocks, so that no client idles for too long on a busy machine. */
static _Atomic int64_t now_ns = 1000 * ICTUS_NS_PER_S;

int clock_gettime(clockid_t id, struct timespec *t)
{
    (void)id;
    const int64_t ns = atomic_load(&now_ns);
    *t = (struct timespec){.tv_sec = ns / ICTUS_NS_PER_S, .tv_nsec = ns % ICTUS_NS_PER_S};
    return 0;
}

static size_t body_text(void *context, char *to, size_t size)
{
    (void)context;
    return (size_t)snprintf(to, size, "ictus_unit 1\n");
}

static int connected(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const struct timeval patience = {.tv_sec = 20};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(fd >= 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    REQUIRE(connect(fd, (const struct sockaddr *)(const void *)&at, sizeof(at)) == 0);
    return fd;
}

/* Query on an open connection. @return whether the whole answer came */
static bool is_answered(int fd)
{
    char text[512];
    size_t length = 0;
    ssize_t got = 0;
    if (send(fd, "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL) != 18) {
        return false;
    }
    while (length + 1 < sizeof(text) &&
           (got = recv(fd, text + length, sizeof(text) - 1 - length, 0)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    return strstr(text, "200 OK") && strstr(text, "\r\n\r\nictus_unit 1\n");
}

/* If a connection in the middle is answered and closed, all others stay as they were. */
static void test_crowd(int port)
{
    enum { STRIDE = 7 }; /* it has no factor in common with CLIENTS */
    int fds[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = connected(port);
    }
    /* The last one first: once it has its answer, all are connected. */
    for (int i = 0; i < CLIENTS; i++) {
        REQUIRE(is_answered(fds[(CLIENTS - 1 + i * STRIDE) % CLIENTS]));
    }
    for (int i = 0; i < CLIENTS; i++) {
        (void)close(fds[i]);
    }
}

/* A client that asks nothing for 2 s is disconnected, and no other is. */
static void test_idle(int port)
{
    char byte = 0;
    const int idle = connected(port);
    REQUIRE(is_answered(connected(port))); /* so the previous one is connected */
    now_ns += 3 * ICTUS_NS_PER_S / 2;
    const int late = connected(port);
    REQUIRE(is_answered(connected(port)));
    now_ns += ICTUS_NS_PER_S;
    CHECK(recv(idle, &byte, 1, 0) == 0);
    CHECK(is_answered(late));
    (void)close(idle);
    (void)close(late);
}

/* Where to listen: a port, or an address and a port. */
static void test_addresses(void)
{
    static const char *const wrong[] = {"0",  "65536", "port",       ":9100",          "[]:9100",
                                        "::", "",      "[::1]9100:", "127.0.0.1:9100x"};
    struct ictus_why why;
    char where[128];
    int fd = -1;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK(ictusi_lock_metrics_open(wrong[i], &fd, &why) == ICTUS_ERR_SPEC);
    }
    (void)snprintf(where, sizeof(where), "127.0.0.1:%d", free_port(SOCK_STREAM));
    REQUIRE(ictusi_lock_metrics_open(where, &fd, &why) == ICTUS_OK);
    int second = -1;
    CHECK(ictusi_lock_metrics_open(where, &second, &why) == ICTUS_ERR_IO && second == -1);
    CHECK(strstr(why.text, "cannot listen on 127.0.0.1:") == why.text);
    (void)close(fd);
    (void)snprintf(where, sizeof(where), "[::1]:%d", free_port(SOCK_STREAM));
    const int err = ictusi_lock_metrics_open(where, &fd, &why);
    CHECK(err == ICTUS_OK || err == ICTUS_ERR_IO); /* not every machine has IPv6 */
    if (!err) {
        (void)close(fd);
    }
}

/* The name of a source is a label, whatever it contains, and the numbers are that source's. */
static void test_labels(void)
{
    static struct ictus_lock_status status;
    static char text[24576];
    status.source_count = 2;
    (void)snprintf(status.sources[0].name, sizeof(status.sources[0].name), "a\"b\\c\nd");
    (void)snprintf(status.sources[1].name, sizeof(status.sources[1].name), "plain");
    status.sources[0].delay_ns = 12.5;
    status.sources[1].delay_ns = 25.0;
    REQUIRE(ictusi_lock_metrics_text(&status, text, sizeof(text)) == strlen(text));
    const char *first = strstr(text, "ictus_lock_source_delay_ns{source=\"a_b_c_d\",selection=");
    const char *other = strstr(text, "ictus_lock_source_delay_ns{source=\"plain\",selection=");
    REQUIRE(first && other);
    CHECK(strncmp(strchr(first, '}'), "} 12.5\n", 7) == 0);
    CHECK(strncmp(strchr(other, '}'), "} 25\n", 5) == 0);
}

/* Each number of the clock is there once, and is its own. */
static void test_gauges(void)
{
    static const char *const gauges[] = {
        "state 2",        "sigma_ns 11",     "bound_ns 12",    "frequency_ppm 13",    "skew_ppm 14",
        "expected_ns 15", "predicted_ns 16", "measured_ns 17", "system_offset_ns 18", "stratum 3",
        "steps 19",       "suspends 20",     "alive 1",        "voters 21",           "agreeing 22",
        "liars 23"};
    static const struct ictus_lock_status status = {
        .now = {.state = ICTUS_LOCK_HOLDOVER, .sigma_ns = 11, .bound_ns = 12},
        .frequency_ppm = 13,
        .skew_ppm = 14,
        .expected_ns = 15,
        .predicted_ns = 16,
        .measured_ns = 17,
        .system_offset_ns = 18,
        .stratum = 3,
        .steps = 19,
        .suspends = 20,
        .alive = 1,
        .voters = 21,
        .agreeing = 22,
        .liars = 23};
    static char text[24576];
    REQUIRE(ictusi_lock_metrics_text(&status, text, sizeof(text)) == strlen(text));
    for (size_t i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++) {
        char line[64];
        (void)snprintf(line, sizeof(line), "\nictus_lock_%s\n", gauges[i]);
        const char *found = strstr(text, line);
        CHECK(found && !strstr(found + 1, line));
    }
}

/*
 * Numbers that do not fit are reported as the largest one. A generation of 0 would mean that
 * nothing has been published.
 */
static void segment_limits(struct clockbound *bound)
{
    struct clockbound_segment *s = bound->segment;
    s->generation = 65534;
    ictusi_clockbound_tell(bound, CLOCKBOUND_FREE_RUNNING, 1e30, 1e30);
    CHECK(s->generation == 2);
    CHECK(s->bound_ns == INT64_C(9000000000000000000) && s->max_drift_ppb == 4000000000U);
}

/* As ClockBound's readers expect it: the state, rounded up, in an even generation. */
static void test_segment(void)
{
    char path[CHECK_PATH];
    struct clockbound bound;
    struct ictus_why why;
    struct stat status;
    REQUIRE(close(mkstemp(check_scratch(path, "bound"))) == 0);
    REQUIRE(ictusi_clockbound_open(&bound, path, &why) == ICTUS_OK);
    struct clockbound_segment *s = bound.segment;
    CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0644);
    CHECK(status.st_size == 80 && s->size == 80 && s->version == 2);
    CHECK(s->magic[0] == 0x414d5a4e && s->magic[1] == 0x43420200);
    CHECK(s->status == CLOCKBOUND_UNKNOWN);
    CHECK(s->bound_ns == 0);
    const unsigned before = s->generation;
    ictusi_clockbound_tell(&bound, CLOCKBOUND_SYNCHRONIZED, 1234.2, 50.5);
    CHECK(s->status == CLOCKBOUND_SYNCHRONIZED && s->max_drift_ppb == 51);
    CHECK(s->bound_ns == 1235); /* and half a nanosecond of drift in one tick */
    CHECK(s->as_of_s == now_ns / ICTUS_NS_PER_S && s->as_of_ns == now_ns % ICTUS_NS_PER_S);
    CHECK(s->void_after_s == s->as_of_s + 1000 && s->void_after_ns == s->as_of_ns);
    CHECK(before == 2 && s->generation == 4);
    segment_limits(&bound);
    const int fd = bound.fd;
    ictusi_clockbound_close(&bound);
    CHECK(bound.fd == -1 && !bound.segment && fcntl(fd, F_GETFD) < 0);
    REQUIRE(unlink(path) == 0 && symlink("nowhere", path) == 0);
    CHECK(ictusi_clockbound_open(&bound, path, &why) == ICTUS_ERR_IO && bound.fd == -1);
    CHECK(unlink(path) == 0);
}

int main(void)
{
    struct metrics *metrics = NULL;
    int port = 0;
    const int listener = bound_socket(SOCK_STREAM, &port);
    REQUIRE(listen(listener, CLIENTS) == 0);
    REQUIRE(ictusi_lock_metrics_start(listener, body_text, NULL, &metrics) == ICTUS_OK);
    test_addresses();
    test_labels();
    test_gauges();
    test_segment();
    test_crowd(port);
    test_idle(port);
    ictusi_lock_metrics_stop(metrics);
    ictusi_lock_metrics_stop(NULL);
    (void)close(listener);
    return check_result();
}
