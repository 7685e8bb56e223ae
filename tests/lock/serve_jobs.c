/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `ictus serve` promises, under faults that are drawn from a seed: each answer is as near to
 * the truth as it says, or says that it knows nothing; it goes to who asked, from the address that
 * was asked, and is no longer than the question. Clients that are not allowed get no answer; all
 * others do. Packets are lost, late, repeated and forged; the system's clock is set; stamps get
 * lost; the lock's daemon falls silent, loses its clock, and is replaced.
 *
 *   serve-jobs serve FIRST COUNT [-v]    seeds FIRST to FIRST + COUNT - 1; a failing one is printed
 */
#include "../check.h"
#include "page/page.h"
#include "serve_world.h"

#include <ictus/lock_daemon.h>
#include <math.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLIENTS = 6, DENIED = 4, FLOODER = 5, RECORDS = 16384, ADDRESSES = 2 };
static const double second = 1e9;
static const double slack_ns = 1e4; /* of a conversion between clocks; see serve.c */
static const int64_t account_ns = 1100000000;

enum regime { LOCKED, SILENT, UNLOCKED, GONE, REGIMES };
static const char *const regime_names[] = {"locked", "silent", "unlocked", "gone"};

/* Whether a datagram must be answered, must not be, or is too odd to say. */
enum duty { DUTY_NONE, DUTY_ANSWER, DUTY_SILENCE, DUTY_ANY };

struct client {
    int socket;
    bool interleaved;
    uint64_t answer_receive, receive; /* the last answer's stamp, and when it came here */
    long asked, answered;
};

/* An answer that left, for what is asked about it later. */
struct record {
    uint64_t receive;
    int64_t left;
    double promise_ns;
};

static struct trial {
    struct scene scene; /* first: the world's functions get nothing else */
    bool verbose;
    struct client clients[CLIENTS];
    double rate, loss, repeats, forged, ask_s;
    /* The page and its truth. */
    struct page_writer writer;
    bool open;
    enum regime regime;
    int64_t since, made;         /* when the regime began, and when the page was made */
    double error_ns, error_rate; /* of the served clock at `published`; ns per ns */
    int64_t published, epoch;
    int32_t stratum;
    double delay_ns;
    /* When what happens next. */
    int64_t ask_at, flood_at, publish_at, regime_at, step_at;
    /* The judge's. */
    enum duty duty;
    struct scene_flight flight;
    bool excused, stepped;
    struct record records[RECORDS];
    long record_count, basic, interleaved, unsynchronised, kisses, eligible;
    double worst_share;
    char failure[512];
} trial;

static char directory[CHECK_PATH];

static struct {
    long answers, interleaved, unsynchronised, flooded;
    double worst_share;
} sum;

static void trial_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void trial_fail(const char *format, ...)
{
    va_list rest;
    if (!trial.failure[0]) {
        const int length = snprintf(trial.failure, sizeof(trial.failure),
                                    "at %.9f s, %s: ", (double)trial.scene.now / second,
                                    regime_names[trial.regime]);
        va_start(rest, format);
        (void)vsnprintf(trial.failure + length, sizeof(trial.failure) - (size_t)length, format,
                        rest);
        va_end(rest);
    }
}

static double draw(double low, double high)
{
    return low + (high - low) * scene_chance(&trial.scene);
}

static int64_t later(double mean_s)
{
    return trial.scene.now + 1 +
           (int64_t)(mean_s * second * ictusi_random_exponential(&trial.scene.rng));
}

/* What the served clock is off by at a true instant, while there is a line for it. */
static double page_error(int64_t at)
{
    return trial.error_ns + trial.error_rate * (double)(at - trial.published);
}

/* The daemon publishes: the line goes on where the last one was, as a clock does that is slewed. */
static void page_publish(void)
{
    struct scene *s = &trial.scene;
    const bool locked = trial.regime == LOCKED;
    trial.error_ns = locked ? page_error(s->now) : 1e9;
    trial.error_rate = locked ? draw(-1e-6, 1e-6) : 0.0;
    trial.published = s->now;
    if (fabs(trial.error_ns) > 1e6 && locked) {
        trial.error_ns = draw(-1e5, 1e5);
        trial.epoch++;
    }
    const int64_t raw = scene_raw(s, s->now);
    const double cautious = draw(1.0, 3.0);
    const struct page_clock clock = {.anchor = raw,
                                     .value = scene_utc(s, s->now) + llround(trial.error_ns),
                                     .slope = (1.0 + trial.error_rate) / (1.0 + s->raw_rate) - 1.0,
                                     .pp_ns2 = 1e4,
                                     .bound_ns = fabs(trial.error_ns) * cautious + 100.0,
                                     .bound_rate = fabs(trial.error_rate) * second * cautious + 1.0,
                                     .good_until = raw + 2000000000,
                                     .state = locked ? ICTUS_LOCK_LOCKED : ICTUS_LOCK_UNLOCKED,
                                     .epoch = trial.epoch};
    ictusi_page_publish(&trial.writer, &clock);
    const struct ictus_lock_status status = {.pid = getpid(),
                                             .updated_raw_ns = raw,
                                             .stratum = locked ? trial.stratum : 16,
                                             .leap = locked ? 0 : 3,
                                             .reference_id = 0x0a0b0c0d,
                                             .root_delay_ns = trial.delay_ns};
    ictusi_page_report(&trial.writer, &status);
}

static void page_begin(void)
{
    if (!trial.open) {
        struct ictus_why why = {""};
        trial.made = trial.scene.now;
        trial.open = ictusi_page_create("serve", directory, &trial.writer, &why) == ICTUS_OK;
        if (!trial.open) {
            trial_fail("no page: %s", why.text);
        }
    }
}

static void page_end(void)
{
    char path[PAGE_PATH_BYTES];
    if (trial.open) {
        ictusi_page_close(&trial.writer);
        trial.open = false;
        if (ictusi_page_path("serve", directory, path, sizeof(path), NULL) == ICTUS_OK) {
            (void)unlink(path);
        }
    }
}

static void regime_change(enum regime regime)
{
    if (regime == trial.regime) {
        return;
    }
    /* From a clock that was lost comes another one, whose error is another. */
    trial.error_ns = trial.regime == UNLOCKED || trial.regime == GONE ? 2e6 : trial.error_ns;
    trial.regime = regime;
    trial.since = trial.scene.now;
    trial.excused = true;
    if (regime == GONE) {
        page_end();
    } else if (regime != SILENT) {
        page_begin();
        page_publish();
    }
}

static uint64_t random_stamp(void)
{
    return ictusi_random_next(&trial.scene.rng) | 1;
}

/* A client asks; the network loses, delays and repeats. */
static void client_ask(int which)
{
    struct scene *s = &trial.scene;
    struct client *c = &trial.clients[which];
    struct packet request = {.version = (uint8_t)draw(2.0, 5.0),
                             .mode = PACKET_CLIENT,
                             .poll = 6,
                             .transmit = random_stamp()};
    if (c->interleaved && c->answer_receive) {
        request.origin = c->answer_receive;
        request.receive = c->receive;
    }
    struct scene_flight flight = {.socket = c->socket,
                                  .client = which,
                                  .address = 1 + (int)draw(0.0, ADDRESSES),
                                  .length = PACKET_BYTES};
    ictusi_packet_encode(&request, flight.bytes);
    c->asked++;
    do {
        flight.at = later(draw(0.0, 1.0) < 0.02 ? 1.0 : 1e-4);
        if (scene_chance(s) >= trial.loss) {
            scene_launch(s, &flight);
        }
    } while (scene_chance(s) < trial.repeats);
}

/* Somebody sends what no client sends. */
static void forger_send(void)
{
    struct scene *s = &trial.scene;
    const int kind = (int)draw(0.0, 6.0);
    struct packet packet = {.version = 4, .mode = PACKET_CLIENT, .transmit = random_stamp()};
    struct scene_flight flight = {
        .client = (int)draw(0.0, DENIED), .address = 1, .at = later(1e-4), .length = PACKET_BYTES};
    flight.socket = trial.clients[flight.client].socket;
    for (size_t i = 0; i < sizeof(flight.bytes); i++) {
        flight.bytes[i] = (uint8_t)ictusi_random_next(&s->rng);
    }
    if (kind == 0) {
        flight.length = (size_t)draw(0.0, 1100.0);
        scene_launch(s, &flight);
        return;
    }
    packet.mode = kind == 1 ? (uint8_t[]){0, 1, 2, 4, 5, 6, 7}[(int)draw(0.0, 7.0)] : packet.mode;
    packet.version = kind == 2 ? (uint8_t[]){0, 1, 5, 6, 7}[(int)draw(0.0, 5.0)] : packet.version;
    ictusi_packet_encode(&packet, flight.bytes);
    flight.length = kind == 3   ? (size_t)draw(0.0, PACKET_BYTES)
                    : kind == 4 ? PACKET_MAX + 4
                    : kind == 5 ? PACKET_BYTES + 20 /* a digest by a key that nobody has */
                                : flight.length;
    scene_launch(s, &flight);
}

/* What an answer to a datagram would be: said without the server's own code. */
static enum duty flight_duty(const struct scene_flight *flight)
{
    const int version = flight->bytes[0] >> 3 & 7, mode = flight->bytes[0] & 7;
    if (flight->client == DENIED || flight->length < PACKET_BYTES || flight->length > PACKET_MAX ||
        mode != PACKET_CLIENT || version < 2 || version > 4 ||
        flight->length == PACKET_BYTES + 20) {
        return DUTY_SILENCE;
    }
    return flight->length > PACKET_BYTES || (flight->client == FLOODER && trial.rate > 0.0)
               ? DUTY_ANY
               : DUTY_ANSWER;
}

static void judge_taken(struct scene *s, const struct scene_flight *flight)
{
    (void)s;
    if (trial.duty == DUTY_ANSWER && !trial.excused && !trial.stepped) {
        trial_fail("client %d has no answer", trial.flight.client);
    }
    trial.duty = flight ? flight_duty(flight) : DUTY_NONE;
    trial.excused = false;
    if (flight) {
        trial.flight = *flight;
    }
}

/* How near to the truth a stamp must be by what its answer says. */
static void judge_stamp(const char *what, uint64_t stamp, int64_t at, double promise_ns)
{
    const int64_t truth = scene_utc(&trial.scene, at);
    const double off = (double)(ictusi_packet_unix(stamp, truth) - truth);
    trial.worst_share = fmax(trial.worst_share, fabs(off) / (promise_ns + slack_ns));
    if (fabs(off) > promise_ns + slack_ns) {
        trial_fail("%s is %.0f ns off, and promised are %.0f ns", what, off, promise_ns);
    }
}

static const struct record *record_find(uint64_t receive)
{
    for (long i = trial.record_count - 1; i >= 0 && i >= trial.record_count - RECORDS; i--) {
        if (trial.records[i % RECORDS].receive == receive) {
            return &trial.records[i % RECORDS];
        }
    }
    return NULL;
}

static void record_keep(const struct packet *answer, int64_t leaves, double promise_ns)
{
    trial.records[trial.record_count++ % RECORDS] =
        (struct record){.receive = answer->receive, .left = leaves, .promise_ns = promise_ns};
}

static void judge_times(const struct packet *request, const struct packet *answer, int64_t leaves)
{
    const double promise = answer->root_delay_ns / 2 + answer->root_dispersion_ns;
    const struct record *earlier = request->origin ? record_find(request->origin) : NULL;
    judge_stamp("the receive stamp", answer->receive, trial.flight.at, promise);
    trial.eligible += earlier != NULL;
    if (answer->origin == request->transmit) {
        trial.basic++;
        judge_stamp("the transmit stamp", answer->transmit, leaves, promise);
        if (answer->transmit < answer->receive) {
            trial_fail("it left before it came");
        }
    } else if (earlier && answer->origin == request->receive) {
        trial.interleaved++;
        judge_stamp("the transmit stamp of the answer before", answer->transmit, earlier->left,
                    earlier->promise_ns);
    } else {
        trial_fail("the origin is none of the request's stamps");
    }
    record_keep(answer, leaves, promise);
}

/* What an answer says of the clock is what the daemon said of it. */
static void judge_account(const struct packet *answer)
{
    if (answer->stratum == 0) {
        if (answer->leap != 3) {
            trial_fail("stratum 0, but leap %d", answer->leap);
        }
    } else if (answer->stratum != trial.stratum || answer->leap != 0 ||
               answer->reference_id != 0x0a0b0c0d ||
               fabs(answer->root_delay_ns - trial.delay_ns) > 16000.0) {
        trial_fail("stratum %d, leap %d, root delay %.0f ns", answer->stratum, answer->leap,
                   answer->root_delay_ns);
    }
}

/* Whether the clock may be served, must be, or must not be. */
static void judge_state(const struct packet *answer)
{
    const int64_t settled = trial.scene.now - trial.since;
    const bool says = answer->stratum != 0;
    const bool lost = trial.regime == UNLOCKED || trial.regime == GONE;
    /* The server looks for another page twice a second; the old one's line holds meanwhile. */
    const int64_t old = trial.regime == GONE ? settled : trial.scene.now - trial.made;
    if (says && lost && old > account_ns && !trial.excused) {
        trial_fail("a clock is served that is not locked");
    }
    if (!says && trial.regime == LOCKED && settled > account_ns) {
        trial_fail("a locked clock is not served");
    }
}

/* It goes to who asked, from the address that was asked. */
static void judge_way(const struct scene *s, int socket, const struct sockaddr *to, int address)
{
    struct sockaddr_storage asker;
    socklen_t length = 0;
    const struct scene_flight *f = &trial.flight;
    scene_client(s->sockets[socket].family, f->client, &asker, &length);
    if (socket != f->socket || memcmp(to, &asker, length) != 0 || address != f->address) {
        trial_fail("an answer to somebody else, or from another address");
    }
}

/* @return whether it has a meaning beyond its head: not if it tells a client to slow down */
static bool judge_head(const struct packet *request, const struct packet *answer)
{
    if (answer->mode != PACKET_SERVER || answer->version != request->version ||
        answer->poll != request->poll) {
        trial_fail("mode %d, version %d", answer->mode, answer->version);
    }
    if (answer->stratum != 0 || answer->reference_id != 0x52415445) {
        return true;
    }
    trial.kisses++;
    if (trial.flight.client != FLOODER) {
        trial_fail("client %d is told to slow down", trial.flight.client);
    }
    return false;
}

static void judge_answered(struct scene *s, int socket, const struct sockaddr *to, int address,
                           const uint8_t *bytes, size_t length, int64_t leaves)
{
    struct packet request, answer;
    const struct scene_flight *f = &trial.flight;
    struct client *c = &trial.clients[f->client];
    if (trial.duty == DUTY_NONE || trial.duty == DUTY_SILENCE) {
        trial_fail("an answer to client %d, who must not have one", f->client);
        return;
    }
    trial.duty = DUTY_NONE;
    trial.stepped = false;
    judge_way(s, socket, to, address);
    if (length > f->length || !ictusi_packet_decode(bytes, length, &answer) ||
        !ictusi_packet_decode(f->bytes, f->length, &request)) {
        trial_fail("an answer of %zu bytes to %zu", length, f->length);
        return;
    }
    c->answered++;
    if (!judge_head(&request, &answer)) {
        return;
    }
    judge_account(&answer);
    judge_state(&answer);
    if (answer.stratum == 0) {
        trial.unsynchronised++;
        record_keep(&answer, leaves, INFINITY);
    } else {
        judge_times(&request, &answer, leaves);
    }
    if (scene_chance(s) >= trial.loss) {
        c->answer_receive = answer.receive;
        c->receive = random_stamp();
    }
}

/* All that happens by itself, each kind at its own instants. */
static void trial_happen(struct scene *s)
{
    if (s->now >= trial.ask_at) {
        trial.ask_at = later(trial.ask_s);
        if (scene_chance(s) < trial.forged) {
            forger_send();
        } else {
            client_ask((int)draw(0.0, FLOODER));
        }
    }
    if (s->now >= trial.flood_at) {
        trial.flood_at = later(0.004);
        client_ask(FLOODER);
    }
    if (s->now >= trial.publish_at) {
        trial.publish_at = later(0.4);
        if (trial.regime == LOCKED || trial.regime == UNLOCKED) {
            page_publish();
        }
    }
    if (s->now >= trial.regime_at) {
        static const enum regime next[] = {LOCKED, LOCKED, LOCKED, SILENT, UNLOCKED, GONE};
        trial.regime_at = later(6.0);
        regime_change(next[(int)draw(0.0, 6.0)]);
    }
    if (s->now >= trial.step_at) {
        trial.step_at = later(4.0);
        scene_step(s, (scene_chance(s) < 0.5 ? -1.0 : 1.0) * pow(10.0, draw(6.0, 12.0)));
        trial.stepped = true;
    }
    const int64_t times[] = {trial.flood_at, trial.publish_at, trial.regime_at, trial.step_at};
    s->next_event = trial.ask_at;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        s->next_event = times[i] < s->next_event ? times[i] : s->next_event;
    }
}

static double fault(double share)
{
    return scene_chance(&trial.scene) < 0.5 ? 0.0 : draw(0.0, share);
}

static void trial_draw(uint64_t seed)
{
    struct scene *s = &trial.scene;
    memset(&trial, 0, sizeof(trial));
    scene_init(s, seed);
    s->happen = trial_happen;
    s->taken = judge_taken;
    s->answered = judge_answered;
    s->send_failed = &trial.excused;
    s->end = (int64_t)(40.0 * second);
    s->raw_rate = draw(-1e-4, 1e-4);
    s->real_rate = draw(-1e-4, 1e-4);
    s->real_offset = draw(-1e10, 1e10);
    s->stampless = fault(0.3);
    s->stamp_loss = fault(0.3);
    s->stamp_late = fault(0.3);
    s->send_fails = fault(0.02);
    trial.loss = fault(0.4);
    trial.repeats = fault(0.3);
    trial.forged = fault(0.5);
    trial.rate = scene_chance(s) < 0.5 ? 0.0 : 20.0;
    /* Nobody but the flooder comes near the limit. */
    trial.ask_s = pow(10.0, draw(trial.rate > 0.0 ? -1.7 : -2.3, -1.0));
    trial.stratum = (int32_t)draw(1.0, 15.0);
    trial.delay_ns = draw(0.0, 1e6);
    for (int i = 0; i < CLIENTS; i++) {
        trial.clients[i] =
            (struct client){.socket = (int)draw(0.0, 2.0), .interleaved = scene_chance(s) < 0.5};
    }
    trial.regime = GONE;
    trial.error_ns = 2e6;
    regime_change(LOCKED);
    trial.ask_at = later(0.1);
    trial.flood_at = trial.rate > 0.0 ? later(0.1) : INT64_MAX;
    trial.publish_at = later(0.4);
    trial.regime_at = later(6.0);
    trial.step_at = scene_chance(s) < 0.3 ? INT64_MAX : later(4.0);
    s->next_event = 0;
}

static void trial_hear(const char *text, void *context)
{
    (void)context;
    if (trial.verbose) {
        printf("%.3f s: %s\n", (double)trial.scene.now / second, text);
    }
}

/* What holds for a whole life. */
static void judge_life(int err, const char *why)
{
    if (err) {
        trial_fail("serve ends with %d: %s", err, why);
    }
    /* Beyond the rate, one request in four is answered. Two clients whose places in the table are
     * the same have no limit; that is rare. */
    const struct client *flooder = &trial.clients[FLOODER];
    const double most =
        64.0 + trial.rate * 40.0 + 0.3 * (double)flooder->asked * (1.0 + trial.repeats);
    sum.flooded += trial.rate > 0.0 && (double)(flooder->answered - trial.kisses) > most;
    /* The stamp of an answer is there before the client asks again, if none gets lost or is late.
     */
    if (trial.scene.stamp_loss == 0.0 && trial.scene.stamp_late == 0.0 &&
        trial.step_at == INT64_MAX && (double)trial.interleaved < 0.8 * (double)trial.eligible) {
        trial_fail("%ld interleaved of %ld that could be", trial.interleaved, trial.eligible);
    }
}

/* @return whether every promise was kept */
static bool trial_run(uint64_t seed, bool verbose)
{
    struct ictus_why why = {""};
    trial_draw(seed);
    trial.verbose = verbose;
    const struct ictus_serve_options options = {.size = sizeof(options),
                                                .port = 123,
                                                .name = "serve",
                                                .directory = directory,
                                                .deny = "10.0.1.4/32,fd00:0:0:400::/64",
                                                .user = geteuid() == 0 ? "root" : NULL,
                                                .rate = trial.rate,
                                                .burst = 64,
                                                .stamps = ICTUS_STAMPS_KERNEL,
                                                .on_message = trial_hear};
    scene_here = &trial.scene;
    const int err = ictus_serve_run(&options, &why);
    scene_here = NULL;
    page_end();
    judge_life(err, why.text);
    sum.answers += trial.basic + trial.interleaved + trial.unsynchronised;
    sum.interleaved += trial.interleaved;
    sum.unsynchronised += trial.unsynchronised;
    sum.worst_share = fmax(sum.worst_share, trial.worst_share);
    if (verbose || trial.failure[0]) {
        printf("seed %llu: asked every %.3f s, loss %.2f, repeats %.2f, forged %.2f, stamps lost "
               "%.2f, "
               "late %.2f, rate %.0f; %ld basic, %ld interleaved of %ld, %ld unsynchronised, %ld "
               "kisses; worst %.2f of the promise\n",
               (unsigned long long)seed, trial.ask_s, trial.loss, trial.repeats, trial.forged,
               trial.scene.stamp_loss, trial.scene.stamp_late, trial.rate, trial.basic,
               trial.interleaved, trial.eligible, trial.unsynchronised, trial.kisses,
               trial.worst_share);
    }
    if (trial.failure[0]) {
        printf("FAILED: %s\n    again: jobs serve %llu 1 -v\n", trial.failure,
               (unsigned long long)seed);
    }
    (void)fflush(stdout);
    return !trial.failure[0];
}

int main(int argc, char **argv)
{
    if (argc < 4 || strcmp(argv[1], "serve") != 0) {
        (void)fprintf(stderr, "usage: serve-jobs serve FIRST COUNT [-v]\n");
        return 2;
    }
    const uint64_t first = strtoull(argv[2], NULL, 10);
    const uint64_t count = strtoull(argv[3], NULL, 10);
    long failed = 0;
    REQUIRE(mkdtemp(check_scratch(directory, "serve")) != NULL);
    for (uint64_t seed = first; seed < first + count; seed++) {
        failed += !trial_run(seed, argc > 4);
    }
    (void)(chdir(directory) || unlink("ictus-guard.serve") || rmdir(directory));
    printf(
        "serve, seeds %llu to %llu: %ld failed; %ld answers, %ld interleaved, %ld unsynchronised; "
        "worst %.2f of the promise\n",
        (unsigned long long)first, (unsigned long long)(first + count - 1), failed, sum.answers,
        sum.interleaved, sum.unsynchronised, sum.worst_share);
    if (sum.flooded > 1 + (long)count / 100) {
        printf("FAILED: floods were answered in %ld trials\n", sum.flooded);
    }
    return failed || sum.flooded > 1 + (long)count / 100;
}
