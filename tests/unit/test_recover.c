/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovering raw files that are complete, cut short, or full of random bytes, without a crash. */
#include "../check.h"

#include "tracer/functions.h"
#include "tracer/record.h"

#include <ictus/trace.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW = 8192, ROUNDS = 400, EVENTS_MAX = RAW_HEADER_BYTES + 2 * WINDOW, LOG_MAX = 4096 };

struct raw {
    unsigned char events[EVENTS_MAX];
    char log[LOG_MAX];
    size_t events_bytes, log_bytes;
};

static uint64_t random_next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static unsigned words_of(unsigned kind)
{
    if (kind >= RECORD_FORK) {
        return 4;
    }
    if (kind > RECORD_TIMED) {
        return 5;
    }
    return kind == RECORD_EVENT || kind == RECORD_METRIC ? 3 : 2;
}

/* One record of every kind, inside calls, as a process leaves them. @return words */
static size_t fill_window(uint64_t *w, uint64_t ticks)
{
    size_t at = 0;
    for (unsigned kind = RECORD_OPEN; kind < RECORD_KINDS; kind++) {
        if (kind == RECORD_TIMED || kind == RECORD_PRE || kind == RECORD_FLUSH) {
            continue;
        }
        const bool timed = kind < RECORD_TIMED || kind >= RECORD_FORK;
        if (!timed) {
            w[at] = record_head(RECORD_OPEN, 2, 4, 0);
            w[at + 1] = ticks += 100;
            at += 2;
        }
        const unsigned words = words_of(kind);
        w[at] = record_head(kind, words, kind == RECORD_METRIC ? 0 : 4, 1);
        for (unsigned i = 1; i < words; i++) {
            w[at + i] = timed && i == 1 ? (ticks += 100) : 1;
        }
        at += words;
        if (!timed) {
            w[at] = record_head(RECORD_LEAVE, 2, 4, 0);
            w[at + 1] = ticks += 100;
            at += 2;
        }
    }
    return at;
}

static void make_raw(struct raw *raw, int rank)
{
    struct raw_header header = {
        .table_hash = TRACE_TABLE_HASH, .window_bytes = WINDOW, .rank = (uint32_t)rank, .pid = 1};
    memset(raw, 0, sizeof(*raw));
    memcpy(header.magic, RAW_MAGIC, sizeof(header.magic));
    memcpy(raw->events, &header, sizeof(header));
    uint64_t window[WINDOW / sizeof(uint64_t)] = {0};
    for (int i = 0; i < 2; i++) {
        (void)fill_window(window, UINT64_C(2000000000) + (uint64_t)i * 1000000);
        memcpy(raw->events + RAW_HEADER_BYTES + i * WINDOW, window, sizeof(window));
    }
    raw->events_bytes = EVENTS_MAX;
    raw->log_bytes = (size_t)snprintf(
        raw->log, sizeof(raw->log),
        "H\t1\t%llu\t%d\t2\t1\nK\t2\t1000\t1000\t281474976710656\nA\t1\t2\nO\thost\nX\tapp\n"
        "L\tmesh\nI\t1999999999\nS\t2000000000\t2000000500\t1e-6\t5\t50\t6\n"
        "F\t4\nR\t2048\tours\nP\t4\tmark\nM\t1\t0\tcycles\nU\t16\t0\tresidual\t1\n"
        "C\t0\t1\t%d\t2\t-1\nC\t1\tabc\t%d\t2\t-1\nG\tabc\ta\t0-1\nD\tabd\tabc\nN\t1\tours\n"
        "W\t4\tdef\t1\nV\t4\tmemory\nJ\t0\t1\t1\t0,1\nJ\t1\t1\t2\t-\nS\t3000000000\t3000001500\t1e-"
        "6\t5\t50\t6\nE\t0\t0\n",
        (unsigned long long)TRACE_TABLE_HASH, rank, rank, rank);
}

static void put_file(const char *directory, const char *name, const void *data, size_t bytes)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/raw/%s", directory, name);
    FILE *file = fopen(path, "wbe");
    REQUIRE(file);
    CHECK(fwrite(data, 1, bytes, file) == bytes);
    CHECK(fclose(file) == 0);
}

static int recover(const char *directory, const struct raw *raw, int local,
                   struct ictus_trace_summary *summary)
{
    struct ictus_why why = {""};
    const struct ictus_trace_recover_opts opts = {
        .size = sizeof(opts), .local = local, .force = 1, .keep = 1};
    put_file(directory, "0.0.events", raw[0].events, raw[0].events_bytes);
    put_file(directory, "0.log", raw[0].log, raw[0].log_bytes);
    put_file(directory, "1.0.events", raw[1].events, raw[1].events_bytes);
    put_file(directory, "1.log", raw[1].log, raw[1].log_bytes);
    const int err = ictus_trace_recover(directory, &opts, summary, &why);
    CHECK(err <= 0);
    return err;
}

/* Cut the data short, change single bytes, or insert noise. */
static void spoil(unsigned char *data, size_t *bytes, uint64_t *state)
{
    const uint64_t how = random_next(state) % 4;
    if (*bytes == 0) {
        return;
    }
    if (how == 0) {
        *bytes = random_next(state) % *bytes;
    } else if (how == 1) {
        for (int i = 0; i < 20; i++) {
            data[random_next(state) % *bytes] = (unsigned char)random_next(state);
        }
    } else if (how == 2) {
        const size_t from = random_next(state) % *bytes;
        for (size_t i = from; i < *bytes && i < from + 600; i++) {
            data[i] = (unsigned char)random_next(state);
        }
    } else {
        /* Heads of records are small numbers, so most noise in them ends the walk immediately. */
        for (int i = 0; i < 8; i++) {
            const size_t at = random_next(state) % *bytes & ~(size_t)7;
            data[at] = (unsigned char)(random_next(state) % RECORD_KINDS);
        }
    }
}

/* Change digits: the log stays readable, but its numbers make no sense. */
static void spoil_digits(char *text, size_t bytes, uint64_t *state)
{
    for (int i = 0; i < 12; i++) {
        char *at = text + random_next(state) % bytes;
        if (*at >= '0' && *at <= '9') {
            *at = "0123456789-"[random_next(state) % 11];
        }
    }
}

static void test_whole(const char *directory)
{
    static struct raw raw[2];
    struct ictus_trace_summary s;
    for (int local = 0; local < 2; local++) {
        make_raw(&raw[0], 0);
        make_raw(&raw[1], 1);
        CHECK(recover(directory, raw, local, &s) == ICTUS_OK);
        CHECK(s.processes == 2 && s.cut == 0 && s.missing == 0);
        CHECK(s.events > 100);
    }
}

/* An existing archive is replaced only on request, and otherwise stays as it is. */
static void test_kept(const char *directory)
{
    static struct raw raw[2];
    struct ictus_trace_summary s = {.processes = 7};
    struct ictus_why why = {""};
    struct stat before, after;
    char anchor[512];
    const struct ictus_trace_recover_opts opts = {.size = sizeof(opts), .keep = 1};
    make_raw(&raw[0], 0);
    make_raw(&raw[1], 1);
    REQUIRE(recover(directory, raw, 0, &s) == ICTUS_OK);
    (void)snprintf(anchor, sizeof(anchor), "%s/traces.otf2", directory);
    REQUIRE(stat(anchor, &before) == 0);
    CHECK(ictus_trace_recover(directory, &opts, &s, &why) == ICTUS_ERR_EXISTS);
    CHECK(strstr(why.text, "already holds an archive") != NULL);
    REQUIRE(stat(anchor, &after) == 0);
    CHECK(before.st_ino == after.st_ino && before.st_size == after.st_size);
    CHECK(before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
          before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
}

static void test_spoilt(const char *directory)
{
    static struct raw raw[2];
    struct ictus_trace_summary s;
    uint64_t state = 7;
    int good = 0;
    for (int i = 0; i < ROUNDS; i++) {
        make_raw(&raw[0], 0);
        make_raw(&raw[1], 1);
        struct raw *victim = &raw[random_next(&state) % 2];
        switch (i % 4) {
        case 0:
            spoil((unsigned char *)victim->log, &victim->log_bytes, &state);
            break;
        case 1:
            spoil_digits(victim->log, victim->log_bytes, &state);
            break;
        default:
            spoil(victim->events, &victim->events_bytes, &state);
            break;
        }
        good += recover(directory, raw, i % 8 == 7, &s) == ICTUS_OK;
    }
    CHECK(good > ROUNDS / 4);
}

int main(void)
{
    char directory[CHECK_PATH];
    char command[128];
    REQUIRE(mkdtemp(check_scratch(directory, "recover")));
    (void)snprintf(command, sizeof(command), "%s/raw", directory);
    REQUIRE(mkdir(command, 0700) == 0);
    /*
     * OTF2 reports each archive that cannot be made on stderr; only the return codes matter here.
     */
    test_whole(directory);
    test_kept(directory);
    test_spoilt(directory);
    (void)snprintf(command, sizeof(command), "rm -rf %s", directory);
    CHECK(system(command) == 0); /* NOLINT(cert-env33-c): a name of our own */
    return check_result();
}
