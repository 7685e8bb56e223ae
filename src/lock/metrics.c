/* SPDX-License-Identifier: BSD-3-Clause */
/* The Prometheus endpoint. */
#include "metrics.h"

#include "core/plain.h"
#include "page/timebase.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/text.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 64,
    PATIENCE_MS = 500,
    REQUEST_BYTES = 1024,
    CONNECTIONS = 64,
    BODY_BYTES = 65536
};

/* A connection that sends no request is closed after this time (ns). */
static const int64_t idle_ns = 2000000000;

static int address_split(const char *where, char host[128], const char **port)
{
    const char *colon = strrchr(where, ':');
    (void)snprintf(host, 128, "127.0.0.1");
    *port = where;
    if (colon) {
        const bool bracket = where[0] == '[' && colon > where && colon[-1] == ']';
        const char *start = where + (bracket ? 1 : 0);
        const size_t length = (size_t)(colon - start) - (bracket ? 1U : 0U);
        if (length == 0 || length >= 128) {
            return ICTUS_ERR_SPEC;
        }
        memcpy(host, start, length);
        host[length] = '\0';
        *port = colon + 1;
    }
    int64_t number = 0;
    return ictus_parse_int(*port, &number) || number < 1 || number > 65535 ? ICTUS_ERR_SPEC
                                                                           : ICTUS_OK;
}

int ictusi_lock_metrics_open(const char *where, int *fd, struct ictus_why *why)
{
    char host[128];
    const char *port = NULL;
    const int on = 1;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICHOST};
    struct addrinfo *list = NULL;
    if (address_split(where, host, &port) || getaddrinfo(host, port, &hints, &list)) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "--prometheus=%.80s: must be PORT or ADDRESS:PORT", where);
    }
    *fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool bad = *fd < 0 || setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
                     bind(*fd, list->ai_addr, list->ai_addrlen) < 0 || listen(*fd, BACKLOG) < 0;
    freeaddrinfo(list);
    if (bad) {
        const int err =
            ictus_because(why, ICTUS_ERR_IO, "cannot listen on %.80s: %s", where, strerror(errno));
        if (*fd >= 0) {
            (void)close(*fd);
        }
        *fd = -1;
        return err;
    }
    return ICTUS_OK;
}

struct connection {
    int fd;
    int64_t since; /* raw time */
};

struct metrics {
    int listener, ends[2]; /* a pipe whose closing tells the thread to stop */
    size_t (*text)(void *context, char *to, size_t size);
    void *context;
    pthread_t thread;
    struct connection connections[CONNECTIONS];
    int count;
    char body[BODY_BYTES];
};

static void connection_drop(struct metrics *m, int which)
{
    (void)close(m->connections[which].fd);
    memmove(&m->connections[which], &m->connections[which + 1],
            sizeof(m->connections[0]) * (size_t)(m->count - which - 1));
    m->count--;
}

/* If all places are taken, a new connection replaces the oldest one, so that idle ones do
 * not keep others out. */
static void connection_take(struct metrics *m)
{
    const int fd = accept4(m->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return;
    }
    if (m->count == CONNECTIONS) {
        connection_drop(m, 0);
    }
    const struct connection c = {fd, ictusi_timebase_raw_now()};
    m->connections[m->count++] = c;
}

static void connection_answer(struct metrics *m, int fd)
{
    char request[REQUEST_BYTES];
    char head[160];
    if (recv(fd, request, sizeof(request), 0) <= 0) {
        return;
    }
    const size_t length = m->text(m->context, m->body, sizeof(m->body));
    const int n = snprintf(head, sizeof(head),
                           "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
                           "Content-Length: %zu\r\n\r\n",
                           length);
    /* Both parts fit the buffer of a new socket. MSG_NOSIGNAL avoids a signal if the reader has
     * gone. */
    if (send(fd, head, (size_t)n, MSG_NOSIGNAL | MSG_MORE) == (ssize_t)n) {
        (void)send(fd, m->body, length, MSG_NOSIGNAL);
    }
    (void)shutdown(fd, SHUT_WR);
}

/* Serve until the other end of the pipe is closed. */
static void *metrics_run(void *context)
{
    struct metrics *m = context;
    for (;;) {
        struct pollfd events[CONNECTIONS + 2] = {{.fd = m->ends[0], .events = POLLIN},
                                                 {.fd = m->listener, .events = POLLIN}};
        const int count = m->count;
        for (int i = 0; i < count; i++) {
            events[i + 2] = (struct pollfd){.fd = m->connections[i].fd, .events = POLLIN};
        }
        (void)poll(events, (nfds_t)count + 2, count ? PATIENCE_MS : -1);
        if (events[0].revents) {
            return NULL;
        }
        const int64_t now = ictusi_timebase_raw_now();
        for (int i = count - 1; i >= 0; i--) {
            if (events[i + 2].revents) {
                connection_answer(m, m->connections[i].fd);
                connection_drop(m, i);
            } else if (now - m->connections[i].since > idle_ns) {
                connection_drop(m, i);
            }
        }
        if (events[1].revents) {
            connection_take(m);
        }
    }
}

int ictusi_lock_metrics_start(int listener, size_t (*text)(void *context, char *to, size_t size),
                              void *context, struct metrics **metrics)
{
    struct metrics *m = calloc(1, sizeof(*m));
    if (!m) {
        return ICTUS_ERR_NOMEM;
    }
    m->listener = listener;
    m->text = text;
    m->context = context;
    if (pipe2(m->ends, O_CLOEXEC) < 0) {
        free(m);
        return ICTUS_ERR_IO;
    }
    if (pthread_create(&m->thread, NULL, metrics_run, m)) {
        (void)close(m->ends[0]);
        (void)close(m->ends[1]);
        free(m);
        return ICTUS_ERR_IO;
    }
    *metrics = m;
    return ICTUS_OK;
}

void ictusi_lock_metrics_stop(struct metrics *metrics)
{
    if (!metrics) {
        return;
    }
    (void)close(metrics->ends[1]);
    (void)pthread_join(metrics->thread, NULL);
    while (metrics->count) {
        connection_drop(metrics, metrics->count - 1);
    }
    (void)close(metrics->ends[0]);
    free(metrics);
}

struct text {
    char *to;
    size_t size, length;
};

static void metrics_put(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void metrics_put(struct text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const struct plain plain = plain_begin();
    const int n = vsnprintf(text->to + text->length, text->size - text->length, format, list);
    plain_end(&plain);
    va_end(list);
    if (n > 0) {
        const size_t room = text->size - text->length - 1;
        text->length += (size_t)n < room ? (size_t)n : room;
    }
}

static void metrics_gauge(struct text *text, const char *name, const char *help, double value)
{
    metrics_put(text, "# HELP ictus_lock_%s %s\n# TYPE ictus_lock_%s gauge\nictus_lock_%s %.17g\n",
                name, help, name, name, value);
}

/* Label values must not contain quotes, backslashes or line feeds. */
static void metrics_label(const char *name, char safe[64])
{
    size_t i = 0;
    for (; i < 63 && name[i]; i++) {
        safe[i] = (char)(name[i] == '"' || name[i] == '\\' || name[i] == '\n' ? '_' : name[i]);
    }
    safe[i] = '\0';
}

static void metrics_put_sources(struct text *text, const struct ictus_lock_status *s)
{
    static const struct {
        const char *name;
        size_t offset;
    } columns[] = {
        {"offset_ns", offsetof(struct ictus_lock_source_status, offset_ns)},
        {"delay_ns", offsetof(struct ictus_lock_source_status, delay_ns)},
        {"sigma_ns", offsetof(struct ictus_lock_source_status, sigma_ns)},
        {"bound_ns", offsetof(struct ictus_lock_source_status, bound_ns)},
        {"interval_s", offsetof(struct ictus_lock_source_status, interval_s)},
    };
    for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
        metrics_put(text, "# TYPE ictus_lock_source_%s gauge\n", columns[c].name);
        for (int i = 0; i < s->source_count; i++) {
            char name[64];
            double value = 0.0;
            metrics_label(s->sources[i].name, name);
            memcpy(&value, (const char *)&s->sources[i] + columns[c].offset, sizeof(value));
            metrics_put(
                text, "ictus_lock_source_%s{source=\"%s\",selection=\"%s\"} %.17g\n",
                columns[c].name, name,
                ictus_lock_selection_name((enum ictus_lock_selection)s->sources[i].selection),
                value);
        }
    }
}

/* The counts of events of each source since the start. */
static void metrics_put_counters(struct text *text, const struct ictus_lock_status *s)
{
    static const struct {
        const char *name;
        size_t offset;
    } columns[] = {
        {"sent", offsetof(struct ictus_lock_source_status, sent)},
        {"received", offsetof(struct ictus_lock_source_status, received)},
        {"lost", offsetof(struct ictus_lock_source_status, lost)},
        {"refused", offsetof(struct ictus_lock_source_status, refused)},
        {"accepted", offsetof(struct ictus_lock_source_status, accepted)},
        {"glitches", offsetof(struct ictus_lock_source_status, glitches)},
        {"steps", offsetof(struct ictus_lock_source_status, steps)},
        {"turns", offsetof(struct ictus_lock_source_status, turns)},
        {"falseticker", offsetof(struct ictus_lock_source_status, falseticks)},
    };
    for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
        metrics_put(text, "# TYPE ictus_lock_source_%s_total counter\n", columns[c].name);
        for (int i = 0; i < s->source_count; i++) {
            char name[64];
            uint64_t value = 0;
            metrics_label(s->sources[i].name, name);
            memcpy(&value, (const char *)&s->sources[i] + columns[c].offset, sizeof(value));
            metrics_put(text, "ictus_lock_source_%s_total{source=\"%s\"} %" PRIu64 "\n",
                        columns[c].name, name, value);
        }
    }
    metrics_put(text, "# TYPE ictus_lock_source_reach gauge\n");
    for (int i = 0; i < s->source_count; i++) {
        char name[64];
        metrics_label(s->sources[i].name, name);
        metrics_put(text, "ictus_lock_source_reach{source=\"%s\"} %d\n", name,
                    __builtin_popcount((unsigned)s->sources[i].reach & 255U));
    }
}

size_t ictusi_lock_metrics_text(const struct ictus_lock_status *s, char *to, size_t size)
{
    struct text text = {.to = to, .size = size, .length = 0};
    metrics_gauge(&text, "state", "0 unlocked, 1 locked, 2 holdover", (double)s->now.state);
    metrics_gauge(&text, "sigma_ns", "standard deviation of the clock's error", s->now.sigma_ns);
    metrics_gauge(&text, "bound_ns", "hard bound of the clock's error", s->now.bound_ns);
    metrics_gauge(&text, "frequency_ppm", "frequency of the clock relative to the local oscillator",
                  s->frequency_ppm);
    metrics_gauge(&text, "skew_ppm", "standard deviation of the frequency", s->skew_ppm);
    metrics_gauge(&text, "expected_ns", "spread of the last group of exchanges", s->expected_ns);
    metrics_gauge(&text, "predicted_ns", "expected standard deviation at the next poll",
                  s->predicted_ns);
    metrics_gauge(&text, "measured_ns", "root mean square of the innovations", s->measured_ns);
    metrics_gauge(&text, "system_offset_ns", "CLOCK_REALTIME minus the clock", s->system_offset_ns);
    metrics_gauge(&text, "stratum", "as served", (double)s->stratum);
    metrics_gauge(&text, "steps", "times that the absolute clock was stepped", (double)s->steps);
    metrics_gauge(&text, "suspends", "times that this machine was suspended", (double)s->suspends);
    metrics_gauge(&text, "alive", "1 while the daemon runs", (double)s->alive);
    metrics_gauge(&text, "voters", "sources that give the time", (double)s->voters);
    metrics_gauge(&text, "agreeing", "sources that agree with the majority", (double)s->agreeing);
    metrics_gauge(&text, "liars", "number of wrong sources that the bound allows for",
                  (double)s->liars);
    metrics_put_sources(&text, s);
    metrics_put_counters(&text, s);
    return text.length;
}
