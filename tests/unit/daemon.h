/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of the daemons: processes, ports, and a single query to an NTP server. */
#ifndef ICTUS_TESTS_DAEMON_H
#define ICTUS_TESTS_DAEMON_H

#include "lock/packet.h"

#include "../check.h"

#include <arpa/inet.h>
#include <ictus/lock_daemon.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char directory[CHECK_PATH];

static inline void remove_clock(const char *name)
{
    static const char *const kinds[] = {"lock", "guard"};
    for (size_t i = 0; i < 2; i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "%s/ictus-%s.%s", directory, kinds[i], name);
        CHECK(unlink(path) == 0);
    }
}

static inline void sleep_ms(int ms)
{
    const struct timespec t = {.tv_nsec = ms * 1000000L};
    (void)nanosleep(&t, NULL);
}

static inline int bound_socket(int type, int *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof(at);
    const int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(fd >= 0 && bind(fd, (const struct sockaddr *)(const void *)&at, sizeof(at)) == 0);
    REQUIRE(getsockname(fd, (struct sockaddr *)(void *)&at, &length) == 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static inline int free_port(int type)
{
    int port = 0;
    (void)close(bound_socket(type, &port));
    return port;
}

/* Run a daemon in a child process. */
static inline pid_t spawn(int (*run)(const void *options), const void *options)
{
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        exit(run(options));
    }
    return child;
}

static inline int run_lock(const void *options)
{
    return ictus_lock_run(options, NULL) ? 1 : 0;
}

static inline int run_serve(const void *options)
{
    return ictus_serve_run(options, NULL) ? 1 : 0;
}

/* @return its exit code after it has been told to end */
static inline int stop(pid_t child)
{
    int status = 0;
    CHECK(kill(child, SIGTERM) == 0);
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* A single query, in basic mode. @return whether a reply came */
static inline bool ask(int port, struct packet *reply)
{
    uint8_t bytes[PACKET_MAX];
    const struct packet request = {.version = 4, .mode = PACKET_CLIENT, .transmit = 77};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const struct timeval patience = {.tv_usec = 50000};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ictusi_packet_encode(&request, bytes);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ssize_t got = -1;
    if (connect(fd, (const struct sockaddr *)(const void *)&at, sizeof(at)) == 0 &&
        send(fd, bytes, PACKET_BYTES, 0) == PACKET_BYTES) {
        got = recv(fd, bytes, sizeof(bytes), 0);
    }
    (void)close(fd);
    return got > 0 && ictusi_packet_decode(bytes, (size_t)got, reply);
}

static inline bool wait_answer(int port)
{
    struct packet reply;
    for (int i = 0; i < 200; i++) {
        if (ask(port, &reply)) {
            return true;
        }
        sleep_ms(10);
    }
    return false;
}

static inline struct ictus_serve_options serve_options(int port)
{
    const struct ictus_serve_options o = {.size = sizeof(o),
                                          .port = port,
                                          .name = "unit",
                                          .directory = directory,
                                          .user = geteuid() == 0 ? "root" : NULL,
                                          .system_clock = true,
                                          .stratum = 3,
                                          .burst = 8,
                                          .stamps = ICTUS_STAMPS_KERNEL};
    return o;
}

#endif
