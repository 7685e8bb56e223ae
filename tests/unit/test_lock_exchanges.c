/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the lock makes of exchanges: measurements, intervals that contain the truth, and whether to
 * answer.
 */
#include "lock/access.h"
#include "lock/bound.h"
#include "lock/drift.h"
#include "lock/group.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/random.h"

#include "../check.h"

static const int64_t second = 1000000000;

static struct sample sample_of(int64_t local, int64_t offset_ns, double delay_ns)
{
    return (struct sample){.local = local,
                           .offset_ns = offset_ns,
                           .delay_ns = delay_ns,
                           .bound_ns = delay_ns / 2,
                           .send_ns = 10,
                           .network_ns = 20,
                           .receive_ns = 30,
                           .interleaved = true,
                           .kernel = true};
}

/* If all delays are equal, only the resolution of 15 ns is left, and all have the same weight. */
static void even_groups_are_averaged(void)
{
    struct delays delays;
    struct measurement m;
    struct sample s[4];
    for (int i = 0; i < 4; i++) {
        s[i] = sample_of(1000L * i, 500 + 7L * i, 3000);
    }
    ictusi_lock_delays_reset(&delays);
    REQUIRE(ictusi_group_combine(s, 4, false, &delays, &m));
    CHECK(m.count == 4 && m.used == 4 && m.local == 1500 && m.offset_ns == 500);
    CHECK_NEAR(m.offset_frac, 10.5, 1e-9);
    CHECK_NEAR(m.variance_ns2, 225.0 / 4, 1e-9);
    CHECK_NEAR(m.mean_ns, 10.5, 1e-9);
    CHECK_NEAR(m.spread_ns, 7 * sqrt(5.0 / 3), 1e-9);
    CHECK(m.delay_ns == 3000 && m.send_ns == 10 && m.network_ns == 20 && m.receive_ns == 30);
    CHECK(m.delay_sd_ns == 0 && m.common_ns == 0 && m.interleaved && m.kernel);
}

/* The first of more than two exchanges is left out if its caches were cold. */
static void cold_exchanges_are_left_out(void)
{
    struct delays delays;
    struct measurement m;
    struct sample s[GROUP_MAX + 1];
    for (int i = 0; i <= GROUP_MAX; i++) {
        s[i] = sample_of(1000L * i, 500 + 7L * i, 3000);
    }
    ictusi_lock_delays_reset(&delays);
    REQUIRE(ictusi_group_combine(s, 3, true, &delays, &m));
    CHECK(m.count == 3 && m.used == 2 && m.offset_ns == 507 && m.local == 1500);
    REQUIRE(ictusi_group_combine(s, 2, true, &delays, &m));
    CHECK(m.count == 2 && m.used == 2 && m.offset_ns == 500);
    s[1].interleaved = s[2].kernel = false;
    REQUIRE(ictusi_group_combine(s, 2, false, &delays, &m));
    CHECK(!m.interleaved && m.kernel);
    REQUIRE(ictusi_group_combine(s, 3, false, &delays, &m));
    CHECK(!m.interleaved && !m.kernel);
    CHECK(ictusi_group_combine(s, GROUP_MAX, false, &delays, &m));
    CHECK(!ictusi_group_combine(s, GROUP_MAX + 1, false, &delays, &m));
    CHECK(!ictusi_group_combine(s, 0, false, &delays, &m));
}

/*
 * The weight of an exchange depends on how far its delay is above the least; beyond a limit it is
 * left out.
 */
static void delays_are_weights(void)
{
    static const double excess[] = {0, 40, 100, 60, 2000};
    static const double offsets[] = {0, 30, -50, 10, 900};
    struct delays delays;
    struct measurement m;
    struct sample s[5];
    double sum = 0, offset = 0, at = 0;
    const double doubt = 60 * 0.75 / sqrt(5.0); /* half of them are 60 ns above the least */
    for (int i = 0; i < 5; i++) {
        s[i] = sample_of(1000L * i, 800 + (int64_t)offsets[i], 3000 + excess[i]);
        const double w = 1.0 / (225.0 + (excess[i] + doubt) * (excess[i] + doubt) / 12.0);
        if (i < 4) {
            sum += w;
            offset += w * offsets[i];
            at += w * 1000 * i;
        }
    }
    ictusi_lock_delays_reset(&delays);
    REQUIRE(ictusi_group_combine(s, 5, false, &delays, &m));
    CHECK(m.count == 5 && m.used == 4 && m.offset_ns == 800 && m.delay_ns == 3000);
    CHECK_NEAR(m.offset_frac, offset / sum, 1e-9);
    CHECK_NEAR(m.variance_ns2, 1 / sum, 1e-9);
    CHECK(m.local == llround(at / sum));
    CHECK_NEAR(m.mean_ns, -2.5, 1e-9);
    /*
     * The median distance of the delays from their median is 40: the limit is 1.4826 * 3 times it,
     * and 15 ns.
     */
    s[4].delay_ns = 3000 + 3 * 1.4826 * 40 + 15 - 0.1;
    REQUIRE(ictusi_group_combine(s, 5, false, &delays, &m));
    CHECK(m.used == 5);
    s[4].delay_ns += 0.2;
    REQUIRE(ictusi_group_combine(s, 5, false, &delays, &m));
    CHECK(m.used == 4);
}

/* A reference states its own accuracy. */
static void references_bring_their_sigma(void)
{
    struct delays delays;
    struct measurement m;
    struct sample s[3];
    for (int i = 0; i < 3; i++) {
        s[i] = sample_of(1000L * i, 40L * i, 0);
        s[i].sigma_ns = i == 1 ? 10 : 20;
    }
    ictusi_lock_delays_reset(&delays);
    REQUIRE(ictusi_group_combine(s, 3, false, &delays, &m));
    CHECK_NEAR(m.variance_ns2, 1 / (1.0 / 400 + 1.0 / 100 + 1.0 / 400), 1e-9);
    CHECK_NEAR(m.offset_frac, 40, 1e-9);
    REQUIRE(ictusi_group_combine(s, 1, false, &delays, &m));
    CHECK(m.used == 1 && m.spread_ns == 0);
}

/*
 * The description of a group: its least delay, the means of its parts, the spread of whole round
 * trips.
 */
static void groups_are_described(void)
{
    struct delays delays;
    struct measurement m;
    struct sample s[3] = {sample_of(0, 100, 3000), sample_of(second / 1000, 104, 3003),
                          sample_of(second / 500, 102, 3001)};
    for (int i = 0; i < 3; i++) {
        s[i].send_ns = 10 + 40 * i;
        s[i].receive_ns = 30 + 7 * i * i;
        s[i].network_ns = 20 + 3 * i;
    }
    memset(&m, 0x7f, sizeof(m));
    ictusi_lock_delays_reset(&delays);
    REQUIRE(ictusi_group_combine(s, 3, false, &delays, &m));
    CHECK(m.count == 3 && m.used == 3 && m.delay_ns == 3000 && m.interleaved && m.kernel);
    CHECK_NEAR(m.send_ns, 50, 1e-9);
    CHECK_NEAR(m.receive_ns, 30 + 7 * 5 / 3.0, 1e-9);
    CHECK_NEAR(m.network_ns, 23, 1e-9);
    CHECK_NEAR(m.mean_ns, 2, 1e-9);
    CHECK_NEAR(m.spread_ns, 2, 1e-9);
    /* 3040, 3090 and 3149 ns in total: 53, 3 and 56 from their mean. */
    CHECK_NEAR(m.delay_sd_ns, sqrt((53.0 * 53 + 3.0 * 3 + 56.0 * 56) / 2), 1e-9);
    s[1].kernel = false;
    REQUIRE(ictusi_group_combine(s, 3, false, &delays, &m));
    CHECK(m.interleaved && !m.kernel);
    s[1].kernel = true;
    s[2].interleaved = false;
    REQUIRE(ictusi_group_combine(s, 3, false, &delays, &m));
    CHECK(!m.interleaved && m.kernel);
    /* Two have a spread; a single one has none. */
    REQUIRE(ictusi_group_combine(s, 2, false, &delays, &m));
    CHECK_NEAR(m.spread_ns, sqrt(8.0), 1e-9);
    CHECK(!ictusi_group_combine(s, 0, false, &delays, &m) && m.count == 0);
}

/* Twelve successive delays far above the least mean a new path; eleven do not. */
static void paths_change(void)
{
    struct delays delays;
    struct measurement m;
    ictusi_lock_delays_reset(&delays);
    for (int i = 0; i < 100; i++) {
        const struct sample s = sample_of(i * second, 0, 3000 + i % 2);
        REQUIRE(ictusi_group_combine(&s, 1, false, &delays, &m));
    }
    for (int i = 1; i <= 14; i++) {
        const struct sample s = sample_of((100 + i) * second, 0, 9000 + i % 2);
        REQUIRE(ictusi_group_combine(&s, 1, false, &delays, &m));
        CHECK(delays.first == (i < 12 ? 0U : 100U));
        CHECK(i < 12 ? m.variance_ns2 > 1e6 : m.variance_ns2 < 300);
    }
}

/*
 * Two exchanges 10 s apart leave the rate within the limits of their intervals and the wander. From
 * the last one, the interval grows accordingly for an hour, and after that as fast as any
 * oscillator may drift.
 */
static void bounds_grow_by_the_rate(void)
{
    struct bound b;
    double low = 0, high = 0;
    struct sample s = {.local = 5 * second, .offset_ns = 7000, .bound_ns = 300, .root_ns = 100};
    ictusi_bound_init(&b, 1e-6); /* 1000 ns/s */
    CHECK(ictusi_bound_add(&b, &s, 1) && b.origin_ns == 7000);
    ictusi_bound_at(&b, 7 * second, &low, &high);
    CHECK(low == -500 - 4e5 && high == 500 + 4e5);
    s.local += 10 * second;
    s.offset_ns += 20000;
    CHECK(ictusi_bound_add(&b, &s, 1));
    ictusi_bound_rate(&b, &low, &high);
    CHECK_NEAR(low, 1900 - 1000, 1e-9);
    CHECK_NEAR(high, 2100 + 1000, 1e-9);
    ictusi_bound_at(&b, 20 * second, &low, &high);
    CHECK_NEAR(low, 19500 + 5 * 900, 1e-6);
    CHECK_NEAR(high, 20500 + 5 * 3100, 1e-6);
    ictusi_bound_at(&b, 13 * second, &low, &high);
    CHECK_NEAR(low, 19500 - 2 * 3100, 1e-6);
    CHECK_NEAR(high, 20500 - 2 * 900, 1e-6);
    ictusi_bound_at(&b, (15 + 3600 + 7) * second, &low, &high);
    CHECK_NEAR(low, 19500 + 3600 * 900.0 - 7 * 2e5, 1e-6);
    CHECK_NEAR(high, 20500 + 3600 * 3100.0 + 7 * 2e5, 1e-6);
    /*
     * An exchange before the last one, as may come from a group, says nothing wrong about the rate.
     */
    s.local -= second;
    s.offset_ns -= 2000;
    CHECK(ictusi_bound_add(&b, &s, 1));
    ictusi_bound_rate(&b, &low, &high);
    CHECK(low <= 2000 && high >= 2000);
    /* While another clock is suspected, the rate is that of neither. */
    s.offset_ns += 900000000;
    CHECK(!ictusi_bound_add(&b, &s, 1));
    ictusi_bound_rate(&b, &low, &high);
    CHECK(low == -2e5 && high == 2e5);
}

/* Data older than an hour says nothing about the rate; intervals that touch agree. */
static void bounds_remember_an_hour(void)
{
    struct bound b;
    double low = 0, high = 0;
    struct sample s = {.local = 5 * second, .bound_ns = 400};
    ictusi_bound_init(&b, 1e-6);
    CHECK(ictusi_bound_add(&b, &s, 1));
    s.local += 3601 * second;
    CHECK(ictusi_bound_add(&b, &s, 1));
    ictusi_bound_rate(&b, &low, &high);
    CHECK(low == -2e5 && high == 2e5);
    ictusi_bound_init(&b, 1e-6);
    CHECK(ictusi_bound_add(&b, &s, 1));
    s.offset_ns = 1000;
    CHECK(ictusi_bound_add(&b, &s, 1));
    ictusi_bound_at(&b, s.local, &low, &high);
    CHECK(low == 500 && high == 500);
    s.offset_ns = 1001;
    CHECK(!ictusi_bound_add(&b, &s, 1));
}

/* A contradiction is believed only after three times; until then, either may be true. */
static void contradictions_are_covered(void)
{
    struct bound b;
    double low = 0, high = 0;
    struct sample s = {.local = second, .offset_ns = 0, .bound_ns = 900};
    struct sample other = {.local = 2 * second, .offset_ns = 5000000, .bound_ns = 900};
    memset(&b, 0x7f, sizeof(b));
    ictusi_bound_init(&b, 1e-6);
    CHECK(ictusi_bound_add(&b, &s, 1));
    for (int i = 1; i <= 2; i++) {
        CHECK(!ictusi_bound_add(&b, &other, 1) && b.against == i && b.broken == (uint64_t)i);
        ictusi_bound_at(&b, other.local, &low, &high);
        CHECK(low < -1000 && high == 5001000);
        ictusi_bound_rate(&b, &low, &high);
        CHECK(low == -2e5 && high == 2e5);
        other.local += second;
    }
    s.local = other.local;
    CHECK(ictusi_bound_add(&b, &s, 1) && b.against == 0); /* it is as before after all */
    ictusi_bound_at(&b, s.local, &low, &high);
    CHECK(low == -1000 && high == 1000);
    for (int i = 0; i < 3; i++) {
        other.local += second;
        CHECK(!ictusi_bound_add(&b, &other, 1));
    }
    CHECK(b.against == 0 && b.broken == 5);
    ictusi_bound_at(&b, other.local, &low, &high);
    CHECK(low == 4999000 && high == 5001000);
    /* If a value fits neither, the suspected interval covers both. */
    s.local = other.local + second;
    CHECK(!ictusi_bound_add(&b, &s, 1));
    s.local += second / 1000;
    s.offset_ns = -7000000;
    CHECK(!ictusi_bound_add(&b, &s, 1));
    ictusi_bound_at(&b, s.local, &low, &high);
    CHECK(low <= -7001000 && high >= 4999000);
    CHECK(b.suspect.low_ns <= -7001000 && b.suspect.high_ns >= 1000);
    ictusi_bound_reset(&b);
    s.local += second;
    CHECK(!b.suspect.started);
    CHECK(ictusi_bound_add(&b, &s, 1) && b.origin_ns == -7000000 && b.broken == 7);
}

/*
 * Hours of exchanges with an oscillator that keeps its promise: the truth is never outside, and
 * after an hour the rate is as narrow as exchanges and wander allow.
 */
static void hours_stay_inside(uint64_t seed)
{
    struct bound b;
    struct rng rng;
    double low = 0;
    double high = 0;
    double truth = 0;
    ictusi_random_seed(&rng, seed, 0);
    ictusi_bound_init(&b, 1e-7); /* 100 ns/s from its mean of an hour */
    for (int64_t t = 1; t < 12000; t++) {
        const double rate = 3000 + 40 * sin((double)t / 700);
        truth += rate;
        if (t % 8 == 0) {
            const double error = (2 * ictusi_random_uniform(&rng) - 1) * 5000;
            const struct sample s = {
                .local = t * second, .offset_ns = llround(truth + error), .bound_ns = 5000};
            CHECK(ictusi_bound_add(&b, &s, 1));
        }
        if (t >= 8) {
            const double here = truth - (double)b.origin_ns;
            ictusi_bound_at(&b, t * second, &low, &high);
            CHECK(low <= here && here <= high && high - low <= 2 * 5101 + 8 * 4e5);
            ictusi_bound_rate(&b, &low, &high);
            CHECK(low <= rate && rate <= high);
            CHECK(t > 3000 || b.kept.anchors[0].at == 8 * second);
            CHECK(t < 4000 || high - low <= 2 * 100 + 4 * 5101 / 3000.0);
        }
    }
    for (int i = 1; i < b.kept.count; i++) {
        const int64_t apart = b.kept.anchors[i].at - b.kept.anchors[i - 1].at;
        CHECK(apart >= 150 * second && apart <= 160 * second);
    }
}

static void truth_stays_inside(void)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        hours_stay_inside(seed);
    }
}

/* If it breaks the promise, earlier data says nothing about the rate any more. */
static void broken_promises_are_forgotten(void)
{
    struct bound b;
    double low = 0, high = 0;
    ictusi_bound_init(&b, 1e-9);
    int64_t offset = 0;
    for (int64_t t = 0; t < 200; t++) {
        const struct sample s = {.local = t * second, .offset_ns = offset, .bound_ns = 10};
        (void)ictusi_bound_add(&b, &s, 1);
        offset += t < 100 ? 0 : 50000;
    }
    ictusi_bound_rate(&b, &low, &high);
    CHECK(low <= 50000 && 50000 <= high && low > 49000 && high < 51000);
}

static struct address address_of(int a, int b)
{
    struct address address = {{0}};
    address.bytes[a] = 1;
    address.bytes[b] = 2;
    return address;
}

static struct address mapped_of(uint8_t last)
{
    struct address address = {{0}};
    address.bytes[10] = address.bytes[11] = 0xff;
    address.bytes[12] = 10;
    address.bytes[15] = last;
    return address;
}

/*
 * A limited number of answers at once and per second. One in four refused requests is answered all
 * the same; of the rest, every sixteenth gets a RATE, beginning with the first.
 */
static void answers_are_limited(void)
{
    static struct limiter limiter;
    const struct address one = mapped_of(1), two = mapped_of(2);
    int64_t now = 1000 * second;
    int leaked = 0, refused = 0;
    ictusi_limiter_init(&limiter, 2.0, 8.0, 42);
    for (int i = 0; i < 8; i++) {
        CHECK(ictusi_limiter_count(&limiter, &one, now) == LIMIT_ANSWER);
    }
    for (int i = 0; i < 4000; i++) {
        const enum verdict verdict = ictusi_limiter_count(&limiter, &one, now);
        leaked += verdict == LIMIT_LEAK;
        if (verdict != LIMIT_LEAK) {
            CHECK(verdict == (refused % 16 == 0 ? LIMIT_KISS : LIMIT_DROP));
            refused++;
        }
    }
    CHECK(leaked > 900 && leaked < 1100);
    CHECK(ictusi_limiter_count(&limiter, &two, now) == LIMIT_ANSWER);
    now += second / 2 - 1000;
    CHECK(ictusi_limiter_count(&limiter, &one, now) != LIMIT_ANSWER);
    now += 2000;
    CHECK(ictusi_limiter_count(&limiter, &one, now) == LIMIT_ANSWER);
    CHECK(ictusi_limiter_count(&limiter, &one, now) != LIMIT_ANSWER);
    CHECK(ictusi_limiter_count(&limiter, &one, now - 100 * second) != LIMIT_ANSWER);
    now += 3600 * second; /* it never has more than at the beginning */
    for (int i = 0; i < 20; i++) {
        CHECK((ictusi_limiter_count(&limiter, &one, now) == LIMIT_ANSWER) == (i < 8));
    }
    ictusi_limiter_init(&limiter, 0.0, 8.0, 42);
    for (int i = 0; i < 100; i++) {
        CHECK(ictusi_limiter_count(&limiter, &one, now) == LIMIT_ANSWER);
    }
    ictusi_limiter_init(&limiter, 1.0, 0.0, 42);
    CHECK(ictusi_limiter_count(&limiter, &one, now) == LIMIT_ANSWER);
    CHECK(ictusi_limiter_count(&limiter, &one, now) != LIMIT_ANSWER);
}

/*
 * Addresses in one /64 share their answers and others do not; without the secret, nobody can aim.
 */
static void networks_are_clients(void)
{
    static struct limiter limiter;
    const struct address one = address_of(0, 15), same = address_of(0, 8),
                         other = address_of(7, 15);
    uint64_t places[3] = {0};
    for (int secret = 0; secret < 3; secret++) {
        ictusi_limiter_init(&limiter, 1.0, 2.0, (uint64_t)secret);
        CHECK(ictusi_limiter_count(&limiter, &one, 0) == LIMIT_ANSWER);
        CHECK(ictusi_limiter_count(&limiter, &same, 0) == LIMIT_ANSWER);
        CHECK(ictusi_limiter_count(&limiter, &one, 0) != LIMIT_ANSWER);
        CHECK(ictusi_limiter_count(&limiter, &other, 0) == LIMIT_ANSWER);
        ictusi_limiter_init(&limiter, 1.0, 2.0, (uint64_t)secret);
        (void)ictusi_limiter_count(&limiter, &one, 0);
        for (uint64_t i = 0; i < ACCESS_CLIENTS; i++) {
            places[secret] = limiter.table[i].who ? i : places[secret];
        }
    }
    CHECK(places[0] != places[1] && places[1] != places[2] && places[0] != places[2]);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void drift_is_read(const char *path)
{
    static const struct {
        const char *text;
        double ppm, sd_ppm; /* below 0: no drift file */
    } files[] = {{"500 500 x\n", 500, 500}, {"-500 0 x\n", -500, 0},
                 {"500.1 1 x\n", 0, -1},    {"-500.1 1 x\n", 0, -1},
                 {"1 500.1 x\n", 0, -1},    {"1 -0.1 x\n", 0, -1},
                 {"nan 1 x\n", 0, -1},      {"1 nan x\n", 0, -1},
                 {"12.5\n", 0, -1},         {"1", 0, -1},
                 {"notes\n", 0, -1},        {"12.5 0.25\n", 12.5, 0.25}};
    struct drift drift;
    struct ictus_why why;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        write_text(path, files[i].text);
        const int err = ictusi_drift_open(&drift, path, &why);
        CHECK(err == (files[i].sd_ppm < 0 ? ICTUS_ERR_FORMAT : ICTUS_OK));
        CHECK(err ? drift.fd == -1 : drift.known && !drift.same_boot);
        CHECK(err || (drift.frequency == 1e3 * files[i].ppm && drift.sd == 1e3 * files[i].sd_ppm));
        ictusi_drift_close(&drift);
    }
}

static void drift_is_remembered(const char *path)
{
    struct drift drift;
    struct ictus_why why;
    struct stat found;
    const mode_t before = umask(0);
    (void)umask(before);
    REQUIRE(!ictusi_drift_open(&drift, path, &why));
    CHECK(!drift.known && !drift.same_boot);
    CHECK(ictusi_drift_write(&drift, -12345.678912, 1e9) && !stat(path, &found));
    const off_t length = found.st_size;
    CHECK((found.st_mode & 0777) == (0644 & ~before));
    CHECK(ictusi_drift_write(&drift, 12345.678912, 25.0) && !stat(path, &found));
    CHECK(found.st_size == length);
    const int fd = drift.fd;
    ictusi_drift_close(&drift);
    CHECK(fcntl(fd, F_GETFD) < 0);
    CHECK(drift.fd == -1 && !ictusi_drift_write(&drift, 1, 1));
    REQUIRE(!ictusi_drift_open(&drift, path, &why));
    CHECK(drift.known && drift.same_boot);
    CHECK_NEAR(drift.frequency, 12345.678912, 1e-6);
    CHECK_NEAR(drift.sd, 25.0, 1e-6);
    CHECK(ictusi_drift_write(&drift, -1.0, 1e9));
    ictusi_drift_close(&drift);
    REQUIRE(!ictusi_drift_open(&drift, path, &why));
    CHECK_NEAR(drift.sd, 500e3, 1e-6);
    ictusi_drift_close(&drift);
}

static void drift_has_a_file(void)
{
    char place[CHECK_PATH];
    char path[128];
    char link_path[128];
    struct drift drift;
    struct ictus_why why;
    REQUIRE(mkdtemp(check_scratch(place, "drift")));
    (void)snprintf(path, sizeof(path), "%s/drift", place);
    (void)snprintf(link_path, sizeof(link_path), "%s/link", place);
    drift_is_remembered(path);
    drift_is_read(path);
    REQUIRE(!symlink(path, link_path));
    CHECK(ictusi_drift_open(&drift, link_path, &why) == ICTUS_ERR_IO);
    CHECK(ictusi_drift_open(&drift, place, &why) == ICTUS_ERR_IO && strstr(why.text, place));
    (void)unlink(link_path);
    (void)unlink(path);
    (void)rmdir(place);
}

int main(void)
{
    even_groups_are_averaged();
    cold_exchanges_are_left_out();
    delays_are_weights();
    references_bring_their_sigma();
    paths_change();
    groups_are_described();
    bounds_grow_by_the_rate();
    bounds_remember_an_hour();
    contradictions_are_covered();
    truth_stays_inside();
    broken_promises_are_forgotten();
    answers_are_limited();
    networks_are_clients();
    drift_has_a_file();
    return check_result();
}
