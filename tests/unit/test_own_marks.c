/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a traced program marks itself is recorded if it makes sense and recording is on, and what
 * statistics count of collectives: each at its site, by the number that all members know it by.
 */
#include "../check.h"

#include "core/operands.h"
#include "tracer/comms.h"
#include "tracer/counting.h"
#include "tracer/real.h"
#include "tracer/requests.h"
#include "tracer/sessions.h"
#include "tracer/tracer.h"

#include <ictus/trace.h>
#include <stdarg.h>
#include <unistd.h>

enum { WORDS = 400, LINES = 20, LENGTH = 300 };

struct tracer ictusi_tracer;
__thread struct recorder *ictusi_tracer_self __attribute__((tls_model("initial-exec")));
__thread struct recorder *ictusi_tracer_active __attribute__((tls_model("initial-exec")));

static struct recorder recorder;
static uint64_t words[WORDS];
static char lines[LINES][LENGTH];
static int line_count, samples, ended, muted = -1;

void ictusi_tracer_log(const char *format, ...)
{
    va_list list;
    REQUIRE(line_count < LINES);
    va_start(list, format);
    (void)vsnprintf(lines[line_count++], LENGTH, format, list);
    va_end(list);
}

struct recorder *ictusi_tracer_join(void)
{
    return NULL;
}

void ictusi_tracer_switched(struct recorder *r, bool on)
{
    r->muted = on;
    r->after = on ? AFTER_MUTED : 0;
}

void ictusi_tracer_mute(bool on)
{
    muted = on;
}

void ictusi_tracer_metrics_sample(struct recorder *r)
{
    samples += r == &recorder;
}

void ictusi_tracer_end(void)
{
    ended++;
}

#ifdef MPI_SESSION_NULL
/* Nothing is opened or traced in sessions here. */
struct real_mpi ictusi_real;

bool ictusi_settings_wanted(void)
{
    return false;
}

bool ictusi_tracer_start(const struct begin_call *call)
{
    (void)call;
    return false;
}

void ictusi_comm_text(MPI_Comm made, const char *text)
{
    (void)made, (void)text;
}
#endif

void ictusi_recorder_switch(struct recorder *r)
{
    r->pos = words; /* the next window */
}

void ictusi_recorder_flush(struct recorder *r)
{
    r->flush_ticks = 0;
}

/* Where the next record will be. */
static const uint64_t *recorder_begins(enum tick_kind kind)
{
    memset(&recorder, 0, sizeof(recorder));
    memset(words, 0, sizeof(words));
    recorder.pos = words;
    recorder.soft = words + WORDS / 2;
    recorder.kind = kind;
    ictusi_tracer_self = &recorder;
    atomic_store(&ictusi_tracer.muted, false);
    line_count = samples = 0;
    return words;
}

static void names_are_clean(void)
{
    char name[400];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    (void)recorder_begins(TICKS_MONOTONIC);
    atomic_store(&ictusi_tracer.next_region, REGION_USER + 1);
    atomic_store(&ictusi_tracer.next_metric, METRIC_CLASS_USER);
    CHECK(ictus_event_define("a\tb\nc") == 0 && ictus_event_define(NULL) == 1);
    CHECK(ictus_region_define("solve") == REGION_USER + 1);
    CHECK(ictus_region_define("") == REGION_USER + 2);
    CHECK(ictus_metric_define("load", "J") == METRIC_CLASS_USER);
    CHECK(ictus_metric_define("rate", NULL) == METRIC_CLASS_USER + 1);
    CHECK(ictus_metric_define("x", name) == METRIC_CLASS_USER + 2);
    static const char *const wanted[] = {"P\t0\ta b c",       "P\t1\t",
                                         "R\t2049\tsolve",    "R\t2050\t",
                                         "U\t16\t0\tload\tJ", "U\t17\t0\trate\t"};
    for (int i = 0; i < 6; i++) {
        CHECK_STR(lines[i], wanted[i]);
    }
    CHECK(strlen(lines[6]) == strlen("U\t18\t0\tx\t") + 40);
    name[201] = '\0';
    CHECK(ictus_event_define(name) == 2 && strlen(lines[7]) == strlen("P\t2\t") + 200);
    name[200] = '\0';
    CHECK(ictus_event_define(name) == 3 && strlen(lines[8]) == strlen("P\t2\t") + 200);
    atomic_store(&ictusi_tracer.next_name, 65535); /* numbers have 16 bits */
    CHECK(ictus_event_define("last") == 65535 && line_count == 10);
    CHECK(ictus_event_define("more") == -1 && line_count == 10);
}

static void nothing_was_recorded(void)
{
    CHECK(recorder.pos == words && words[0] == 0);
}

/* By the counter directly or not: an event and its value, unless its number is none. */
static void events_are_recorded(void)
{
    static const enum tick_kind kinds[] = {TICKS_MONOTONIC, TICKS_TSC};
    for (int k = 0; k < 2; k++) {
        static const int numbers[] = {0, 77, 65535};
        const uint64_t *at = recorder_begins(kinds[k]);
        const uint64_t before = ticks_read(kinds[k], NULL);
        for (int i = 0; i < 3; i++) {
            ictus_event(numbers[i], 1000 + (uint64_t)i);
            CHECK(record_kind(at[0]) == RECORD_EVENT &&
                  record_small(at[0]) == (unsigned)numbers[i]);
            CHECK(record_words(at[0]) == 3 && at[2] == 1000 + (uint64_t)i && at[1] >= before);
            at += 3;
        }
        CHECK(at[-2] <= ticks_read(kinds[k], NULL) && recorder.pos == at);
        ictus_event(-1, 1);
        ictus_event(65536, 1);
        CHECK(recorder.pos == at);
        recorder.pos = recorder.soft + 1; /* the window is full */
        ictus_event(7, 1);
        CHECK(recorder.pos == words + 3 && record_small(words[0]) == 7);
        recorder.flush_ticks = 5;
        ictus_event(8, 1);
        CHECK(recorder.flush_ticks == 0 && recorder.pos == words + 6);
        atomic_store(&ictusi_tracer.muted, true);
        ictus_event(9, 1);
        CHECK(recorder.pos == words + 6 && recorder.muted && recorder.lost == 0);
        (void)recorder_begins(kinds[k]);
        recorder.after = AFTER_FULL;
        ictus_event(9, 1);
        nothing_was_recorded();
        CHECK(recorder.lost == 1);
        ictusi_tracer_self = NULL;
        ictus_event(9, 1);
        nothing_was_recorded();
    }
}

static void regions_are_recorded(void)
{
    static const int outside[] = {-1, 0, REGION_USER - 1, REGION_MAX + 1};
    (void)recorder_begins(TICKS_MONOTONIC);
    for (int i = 0; i < 4; i++) {
        ictus_region_enter(outside[i]);
        ictus_region_leave(outside[i]);
    }
    nothing_was_recorded();
    for (int region = REGION_USER; region <= REGION_MAX; region += REGION_MAX - REGION_USER) {
        (void)recorder_begins(TICKS_MONOTONIC);
        ictus_region_enter(region);
        CHECK(record_kind(words[0]) == RECORD_OPEN && record_small(words[0]) == (unsigned)region);
        ictus_region_leave(region);
        CHECK(record_kind(words[0]) == RECORD_CALL && samples == 0 && recorder.pos == words + 2);
        recorder.after = AFTER_SAMPLE;
        ictus_region_leave(region);
        CHECK(record_kind(words[2]) == RECORD_LEAVE && samples == 1);
    }
    atomic_store(&ictusi_tracer.muted, true);
    ictus_region_enter(REGION_USER + 1);
    ictus_region_leave(REGION_USER + 1);
    CHECK(recorder.pos == words + 4 && samples == 1);
}

static void metrics_are_recorded(void)
{
    const double value = 0.1;
    (void)recorder_begins(TICKS_MONOTONIC);
    ictus_metric(METRIC_CLASS_USER - 1, value); /* the tracer's own */
    ictus_metric(65536, value);
    nothing_was_recorded();
    ictus_metric(METRIC_CLASS_USER, value);
    CHECK(record_kind(words[0]) == RECORD_METRIC && record_small(words[0]) == METRIC_CLASS_USER);
    CHECK(record_words(words[0]) == 3 && memcmp(&words[2], &value, sizeof(value)) == 0);
    ictus_metric(65535, value);
    CHECK(record_small(words[3]) == 65535 && recorder.pos == words + 6);
    ictusi_tracer_self = NULL;
    ictus_metric(METRIC_CLASS_USER, value);
    CHECK(recorder.pos == words + 6);
}

static void switches_are_passed_on(void)
{
    static const int states[] = {TRACER_IDLE, TRACER_RUNNING, TRACER_DONE};
    ictus_trace_switch(1);
    CHECK(muted == 0);
    ictus_trace_switch(0);
    CHECK(muted == 1);
    for (int i = 0; i < 6; i++) {
        atomic_store(&ictusi_tracer.state, states[i / 2]);
        atomic_store(&ictusi_tracer.muted, i % 2);
        CHECK(ictus_trace_is_on() == (i == 2));
    }
}

/* A process that was traced in sessions is complete when the last of them was closed. */
static void sessions_end_with_the_last(void)
{
    static const int states[] = {TRACER_IDLE, TRACER_RUNNING, TRACER_DONE};
    for (int i = 0; i < 24; i++) {
        const bool in = i % 2, open = i / 2 % 2, was = i / 12;
        atomic_store(&ictusi_tracer.state, states[i / 4 % 3]);
        ictusi_tracer.in_sessions = in;
        ictusi_tracer.sessions_open = open ? 2 : 0;
        ictusi_tracer.ended = was;
        ended = 0;
        CHECK(ictusi_sessions_over() == (in && was));
        CHECK(ended == (in && !open && i / 4 % 3 == 1));
    }
    ictusi_tracer.in_sessions = false;
}

static struct trace_comm comm = {.id = 6, .size = 4, .remote = -1};

/* A call of a function from a place, which lasted so many ticks. */
static void call_is_counted(struct counted *c, uint64_t place, uint64_t lasted)
{
    static uint64_t record[3];
    record[0] = record_head(RECORD_CALL, 3, 9, (uint32_t)lasted);
    record[1] = 5000;
    record[2] = place;
    recorder.call = record;
    recorder.counting = c;
    ictusi_tracer_count_coll(&recorder);
}

static struct counted counted_of(uint8_t op, uint64_t sent, uint32_t root)
{
    return (struct counted){.what = tally_what(0, op),
                            .root = root,
                            .operands = 3,
                            .sent = sent,
                            .received = 2 * sent,
                            .info = &comm};
}

static const struct tally_site *site_number(uint64_t number)
{
    REQUIRE(ictusi_tracer.tally.image->sites > number);
    return &ictusi_tracer.tally.image->site[number];
}

static void calls_are_counted(void)
{
    struct tally_image *image = ictusi_tracer.tally.image;
    (void)recorder_begins(TICKS_MONOTONIC);
    recorder.counting = NULL;
    ictusi_tracer_count_coll(&recorder); /* no collective */
    CHECK(image->sites == 0);
    struct counted c = counted_of(COLL_BCAST, 80, 2);
    call_is_counted(&c, 33, 70);
    const struct tally_site *site = site_number(0);
    CHECK(c.site == site && site->calls == 1 && site->root == 2 && site->operands == 3);
    CHECK(site->sent == 80 && site->received == 160 && comm.calls == 1);
    CHECK(site->key.place == tally_place(33, 6) && site->key.what == tally_what(9, COLL_BCAST));
    CHECK(site->recent[1].enter == 5000 && site->recent[1].leave == 5070);
    CHECK(site->recent[1].number == 1);
    call_is_counted(&c, 33, 70); /* its entry knows the site */
    CHECK(site->calls == 2 && site->root == 2 && image->sites == 1);
    struct counted other = counted_of(COLL_BCAST, 80, 3);
    other.operands = 1;
    call_is_counted(&other, 33, 70);
    CHECK(site->calls == 3 && site->root == ROOT_NONE && site->recent[3].number == 3);
    CHECK(site->operands == ictusi_operands_common(3, 1));
    /* Another place, size or function is another site. */
    struct counted more = counted_of(COLL_BCAST, 81, 2);
    call_is_counted(&more, 33, 70);
    more = counted_of(COLL_BCAST, 80, 2);
    call_is_counted(&more, 34, 70);
    CHECK(image->sites == 3 && site->calls == 3 && comm.calls == 5);
}

/* Calls that are not counted have their number all the same, since others may count them. */
static void numbers_are_those_of_all(void)
{
    struct tally_image *image = ictusi_tracer.tally.image;
    const uint64_t before = image->sites;
    static const uint8_t reasons[] = {AFTER_MUTED, AFTER_HIDDEN};
    comm.calls = 0;
    for (int i = 0; i < 2; i++) {
        struct counted c = counted_of(COLL_REDUCE, 8, 0);
        recorder.after = reasons[i] | AFTER_TALLY;
        call_is_counted(&c, 50, 1);
    }
    recorder.after = AFTER_TALLY;
    comm.size = 1;
    struct counted c = counted_of(COLL_REDUCE, 8, 0);
    call_is_counted(&c, 50, 1);
    comm.size = 2;
    comm.remote = 0;
    call_is_counted(&c, 50, 1);
    CHECK(image->sites == before && comm.calls == 3 && image->inter == 1);
    comm.remote = -1;
    call_is_counted(&c, 50, 1);
    CHECK(image->sites == before + 1 && site_number(before)->recent[1].number == 4);
}

/* Whose sizes differ by design have one site; others one a size. */
static void sizes_may_vary(void)
{
    static const uint8_t vary[] = {COLL_GATHERV,   COLL_SCATTERV,  COLL_ALLGATHERV,
                                   COLL_ALLTOALLV, COLL_ALLTOALLW, COLL_REDUCE_SCATTER};
    static const uint8_t fixed[] = {COLL_BCAST, COLL_GATHER, COLL_ALLTOALL, COLL_ALLREDUCE};
    const struct tally_image *image = ictusi_tracer.tally.image;
    for (size_t i = 0; i < sizeof(vary) + sizeof(fixed); i++) {
        const uint64_t before = image->sites;
        const bool varies = i < sizeof(vary);
        for (uint64_t sent = 1; sent <= 3; sent++) {
            struct counted c = counted_of(varies ? vary[i] : fixed[i - sizeof(vary)], sent, 0);
            call_is_counted(&c, 100, 1);
        }
        CHECK(image->sites == before + (varies ? 1 : 3));
        CHECK(site_number(before)->sent == 1);
    }
}

/* Nonblocking calls have no end; long ones end when they are counted. */
static void ends_may_be_unknown(void)
{
    const struct tally_image *image = ictusi_tracer.tally.image;
    struct trace_request made = {.comm = &comm, .peer = COLL_BCAST, .root = 1, .operands = 2};
    made.sent = 5;
    made.received = 6;
    uint64_t before = image->sites;
    uint64_t record[3] = {record_head(RECORD_OPEN, 3, 9, 0), 5000, 200};
    recorder.call = record;
    recorder.comm_info = &comm;
    ictusi_tracer_count_icoll(&recorder, &made);
    const struct tally_site *site = site_number(before);
    CHECK(site->recent[1].leave == 0 && site->sent == 5 && site->received == 6);
    CHECK(site->root == 1 && site->operands == 2);
    made.comm = NULL; /* it is not recorded */
    ictusi_tracer_count_icoll(&recorder, &made);
    CHECK(site->calls == 1);
    before = image->sites;
    struct counted c = counted_of(COLL_BARRIER, 0, 0);
    record[1] = ticks_read(TICKS_MONOTONIC, NULL);
    record[2] = 201;
    recorder.counting = &c;
    ictusi_tracer_count_coll(&recorder);
    CHECK(site_number(before)->recent[1].leave >= record[1]);
    CHECK(site_number(before)->recent[1].leave <= ticks_read(TICKS_MONOTONIC, NULL));
    while (image->sites < TALLY_SITES) {
        c = counted_of(COLL_BCAST, 1000 + image->sites, 0);
        call_is_counted(&c, 300, 1);
    }
    c = counted_of(COLL_BCAST, 9999, 0);
    call_is_counted(&c, 300, 1);
    call_is_counted(&c, 300, 1);
    CHECK(image->sites == TALLY_SITES && image->full == 2 && !c.site);
}

int main(void)
{
    char path[CHECK_PATH];
    names_are_clean();
    events_are_recorded();
    regions_are_recorded();
    metrics_are_recorded();
    switches_are_passed_on();
    sessions_end_with_the_last();
    REQUIRE(mkdtemp(check_scratch(path, "own")) != NULL && rmdir(path) == 0);
    REQUIRE(ictusi_tally_create(&ictusi_tracer.tally, path, NULL) == ICTUS_OK);
    calls_are_counted();
    numbers_are_those_of_all();
    sizes_may_vary();
    ends_may_be_unknown();
    ictusi_tally_close(&ictusi_tracer.tally);
    CHECK(unlink(path) == 0);
    return check_result();
}
