/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Perfetto is shown of an archive: each call, message, event, metric and wait once, on its
 * thread and at its nanosecond, with names that a strict reader of JSON reads back unchanged.
 */
#include "../check.h"
#include "written_archive.h"

#include <ftw.h>
#include <ictus/error.h>
#include <ictus/trace.h>
#include <jansson.h>
#include <otf2/otf2.h>
#include <stdbool.h>
#include <unistd.h>

/* Two processes with two threads each, whose numbers are not those of their places. A tick is 4 ns
 * long. */
enum {
    ORIGIN = 500,
    RUN = 4000,
    TICK_NS = 4,
    LOCATIONS = 4,
    MESSAGES = 5,
    ENTER = 50,
    LEAVE = 700
};

static const uint64_t locations[LOCATIONS] = {7, 3, 1000, 40};
static const uint64_t event_counts[LOCATIONS] = {9, 4, 11, 4};
static const uint32_t processes[2] = {5, 2};
static const char odd_name[] = "a \"quoted\" \\ back\x01\tslash \xc3\xa9";

/* Messages between the first threads of both processes. */
static const struct {
    uint32_t from; /* process */
    uint32_t tag;
    uint64_t bytes, sent, received; /* ticks after the origin; 0: it was never received */
} messages[MESSAGES] = {{0, 3, 80, 100, 150},
                        {1, 4, 90, 200, 260},
                        {0, 5, 1, 300, 350}, /* two at one time */
                        {0, 6, 7, 300, 350},
                        {1, 8, 9, 400, 0}};

/* Sends and receives, blocking or not, in the order of time; the last receive has no sender. */
static const struct {
    uint64_t tick;
    enum { SEND, ISEND, POST, RECV, IRECV } kind;
    int message;
} events[2][8] = {{{100, SEND, 0},
                   {190, POST, 1},
                   {260, IRECV, 1},
                   {300, ISEND, 2},
                   {300, ISEND, 3},
                   {0, SEND, -1}},
                  {{150, RECV, 0},
                   {200, ISEND, 1},
                   {280, POST, 2},
                   {290, POST, 3},
                   {350, IRECV, 2},
                   {350, IRECV, 3},
                   {400, SEND, 4},
                   {0, SEND, -1}}};

static void messages_write(OTF2_EvtWriter *w, uint32_t process)
{
    const uint32_t other = !process;
    for (int i = 0; i < 8 && events[process][i].message >= 0; i++) {
        const int m = events[process][i].message;
        const uint64_t time = ORIGIN + events[process][i].tick, request = 10 + (uint64_t)m;
        const uint32_t tag = messages[m].tag;
        const uint64_t bytes = messages[m].bytes;
        switch (events[process][i].kind) {
        case SEND:
            OTF2_EvtWriter_MpiSend(w, NULL, time, other, 0, tag, bytes);
            break;
        case ISEND:
            OTF2_EvtWriter_MpiIsend(w, NULL, time, other, 0, tag, bytes, request);
            break;
        case POST:
            OTF2_EvtWriter_MpiIrecvRequest(w, NULL, time, request);
            break;
        case RECV:
            OTF2_EvtWriter_MpiRecv(w, NULL, time, other, 0, tag, bytes);
            break;
        default:
            OTF2_EvtWriter_MpiIrecv(w, NULL, time, other, 0, tag, bytes, request);
            break;
        }
    }
}

static void location_write(OTF2_Archive *archive, uint32_t place)
{
    static const OTF2_Type types[] = {OTF2_TYPE_UINT64, OTF2_TYPE_DOUBLE};
    static const OTF2_MetricValue values[] = {{.unsigned_int = 21}, {.floating_point = 0.25}};
    OTF2_EvtWriter *w = OTF2_Archive_GetEvtWriter(archive, locations[place]);
    OTF2_EvtWriter_Enter(w, NULL, ORIGIN + ENTER + place, 0);
    if (place % 2 == 0) {
        messages_write(w, place / 2);
    }
    OTF2_EvtWriter_ParameterUnsignedInt(w, NULL, ORIGIN + 500, 0, 17 + place);
    OTF2_EvtWriter_Metric(w, NULL, ORIGIN + 600, 0, 2, types, values);
    OTF2_EvtWriter_Leave(w, NULL, ORIGIN + LEAVE + place, 0);
    OTF2_Archive_CloseEvtWriter(archive, w);
}

static void definitions_write(OTF2_GlobalDefWriter *d)
{
    static const char *const strings[] = {"",  odd_name, "load", "rate",
                                          "J", "mark",   "p\\0", "thread \"a\""};
    static const OTF2_MetricMemberRef members[] = {0, 1};
    static const uint64_t ranked[] = {7, 1000}, ranks[] = {0, 1};
    OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000000 / TICK_NS, ORIGIN, RUN,
                                              OTF2_UNDEFINED_TIMESTAMP);
    for (uint32_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        OTF2_GlobalDefWriter_WriteString(d, i, strings[i]);
    }
    OTF2_GlobalDefWriter_WriteRegion(d, 0, 1, 1, 0, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER,
                                     OTF2_REGION_FLAG_NONE, 0, 0, 0);
    OTF2_GlobalDefWriter_WriteParameter(d, 0, 5, OTF2_PARAMETER_TYPE_UINT64);
    OTF2_GlobalDefWriter_WriteMetricMember(d, 0, 2, 0, OTF2_METRIC_TYPE_USER,
                                           OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_UINT64,
                                           OTF2_BASE_DECIMAL, 0, 0);
    OTF2_GlobalDefWriter_WriteMetricMember(d, 1, 3, 0, OTF2_METRIC_TYPE_USER,
                                           OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_DOUBLE,
                                           OTF2_BASE_DECIMAL, 0, 4);
    OTF2_GlobalDefWriter_WriteMetricClass(d, 0, 2, members, OTF2_METRIC_ASYNCHRONOUS,
                                          OTF2_RECORDER_KIND_ABSTRACT);
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 0, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t p = 0; p < 2; p++) {
        OTF2_GlobalDefWriter_WriteLocationGroup(
            d, processes[p], 6, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0, OTF2_UNDEFINED_LOCATION_GROUP);
    }
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        OTF2_GlobalDefWriter_WriteLocation(d, locations[l], 7, OTF2_LOCATION_TYPE_CPU_THREAD,
                                           event_counts[l], processes[l / 2]);
    }
    OTF2_GlobalDefWriter_WriteGroup(d, 0, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, 2, ranked);
    OTF2_GlobalDefWriter_WriteGroup(d, 1, 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, 2, ranks);
    OTF2_GlobalDefWriter_WriteComm(d, 0, 0, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
}

static void run_write(const char *path)
{
    OTF2_Archive *archive = written_archive_open(path, 1 << 18);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        location_write(archive, l);
    }
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_Archive_OpenDefFiles(archive);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        OTF2_Archive_CloseDefWriter(archive, OTF2_Archive_GetDefWriter(archive, locations[l]));
    }
    OTF2_Archive_CloseDefFiles(archive);
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(archive);
    definitions_write(d);
    OTF2_Archive_CloseGlobalDefWriter(archive, d);
    REQUIRE(OTF2_Archive_Close(archive) == OTF2_SUCCESS);
}

static json_t *export_read(const char *path, const json_t *waits)
{
    char *text = NULL;
    size_t length = 0;
    struct ictus_why why = {""};
    FILE *out = open_memstream(&text, &length);
    REQUIRE(out);
    CHECK(ictus_trace_export_perfetto(path, waits, out, &why) == ICTUS_OK);
    CHECK_STR(why.text, "");
    (void)fclose(out);
    json_t *exported = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    REQUIRE(exported);
    CHECK_STR(json_string_value(json_object_get(exported, "displayTimeUnit")), "ns");
    free(text);
    return exported;
}

/* The n-th record of a phase on a location with this name (or any), or NULL. */
static const json_t *record_of(const json_t *exported, const char *phase, int place,
                               const char *name, int n)
{
    size_t i = 0;
    const json_t *r = NULL;
    json_array_foreach(json_object_get(exported, "traceEvents"), i, r)
    {
        const char *named = json_string_value(json_object_get(r, "name"));
        if (strcmp(json_string_value(json_object_get(r, "ph")), phase) == 0 &&
            json_integer_value(json_object_get(r, "pid")) == processes[place / 2] &&
            json_integer_value(json_object_get(r, "tid")) == place % 2 &&
            (!name || (named && strcmp(named, name) == 0)) && n-- == 0) {
            return r;
        }
    }
    return NULL;
}

/* When it was, in ns after the origin of the clock: to the last digit. */
static void record_is_at(const json_t *record, uint64_t ticks)
{
    REQUIRE(record);
    CHECK_NEAR(json_number_value(json_object_get(record, "ts")) * 1000.0, (double)ticks * TICK_NS,
               1e-6);
}

static const json_t *argument_of(const json_t *record, const char *name)
{
    return json_object_get(json_object_get(record, "args"), name);
}

static void threads_are(const json_t *exported, int place)
{
    const json_t *named = record_of(exported, "M", place, "thread_name", 0);
    CHECK(named && strcmp(json_string_value(argument_of(named, "name")), "thread \"a\"") == 0);
    record_is_at(record_of(exported, "B", place, odd_name, 0), ENTER + (uint64_t)place);
    record_is_at(record_of(exported, "E", place, NULL, 0), LEAVE + (uint64_t)place);
    CHECK(!record_of(exported, "B", place, NULL, 1) && !record_of(exported, "E", place, NULL, 1));
    const json_t *mark = record_of(exported, "i", place, "mark", 0);
    record_is_at(mark, 500);
    CHECK(json_integer_value(argument_of(mark, "value")) == 17 + place);
    const json_t *load = record_of(exported, "C", place, "load", 0);
    const json_t *rate = record_of(exported, "C", place, "rate", 0);
    record_is_at(load, 600);
    record_is_at(rate, 600);
    CHECK_NEAR(json_number_value(argument_of(load, "value")), 21, 0);
    CHECK_NEAR(json_number_value(argument_of(rate, "J")), 0.25, 0);
    CHECK(json_integer_value(json_object_get(load, "tid")) == place % 2);
    CHECK(atoi(json_string_value(json_object_get(load, "id"))) == place % 2);
    CHECK(!record_of(exported, "C", place, NULL, 2));
}

/* Each message that arrived is an arrow, whose ends have one name that no other arrow has. */
static void arrows_are(const json_t *exported)
{
    const char *ids[MESSAGES] = {""};
    int sent[2] = {0, 0}, received[2] = {0, 0};
    for (int m = 0; m < MESSAGES; m++) {
        const uint32_t from = messages[m].from;
        if (messages[m].received == 0) {
            continue;
        }
        const json_t *s = record_of(exported, "s", 2 * (int)from, "message", sent[from]++);
        const json_t *f = record_of(exported, "f", 2 * (int)!from, "message", received[!from]++);
        record_is_at(s, messages[m].sent);
        record_is_at(f, messages[m].received);
        ids[m] = json_string_value(json_object_get(s, "id"));
        CHECK_STR(ids[m], json_string_value(json_object_get(f, "id")));
        for (int k = 0; k < m; k++) {
            CHECK(strcmp(ids[k], ids[m]) != 0);
        }
        CHECK_STR(json_string_value(json_object_get(f, "bp")), "e");
        for (int end = 0; end < 2; end++) {
            const json_t *r = end ? f : s;
            CHECK_STR(json_string_value(json_object_get(r, "cat")), "message");
            CHECK(json_integer_value(argument_of(r, "tag")) == messages[m].tag);
            CHECK(json_integer_value(argument_of(r, "bytes")) == (json_int_t)messages[m].bytes);
            CHECK(json_integer_value(argument_of(r, "comm")) == 0);
        }
    }
    for (int place = 0; place < LOCATIONS; place++) {
        const int process = place / 2;
        CHECK(!record_of(exported, "s", place, NULL, place % 2 ? 0 : sent[process]));
        CHECK(!record_of(exported, "f", place, NULL, place % 2 ? 0 : received[process]));
    }
}

static void archives_are_shown(const char *path)
{
    json_t *exported = export_read(path, NULL);
    for (int place = 0; place < LOCATIONS; place++) {
        threads_are(exported, place);
    }
    size_t names[2] = {0, 0}, i = 0;
    const json_t *r = NULL;
    json_array_foreach(json_object_get(exported, "traceEvents"), i, r)
    {
        const char *name = json_string_value(json_object_get(r, "name"));
        for (int process = 0; process < 2 && name && strcmp(name, "process_name") == 0; process++) {
            names[process] += json_integer_value(json_object_get(r, "pid")) == processes[process] &&
                              strcmp(json_string_value(argument_of(r, "name")), "p\\0") == 0;
        }
    }
    CHECK(names[0] == 1 && names[1] == 1);
    arrows_are(exported);
    json_decref(exported);
}

/* Waits are slices of their own: on the thread that waited, from the first event on. What is not a
 * wait, or has no state or no end, is left out. */
static void waits_are_shown(const char *path)
{
    json_t *waits = json_pack(
        "[{s:s},"
        "{s:s,s:s,s:i,s:f,s:f,s:s,s:s,s:s,s:i,s:f},"
        "{s:s,s:s,s:i,s:f,s:f,s:i,s:n},"
        "{s:s,s:i,s:f,s:f},{s:s,s:s,s:i,s:f,s:f},{s:s,s:s,s:i,s:f,s:f},{s:s,s:s,s:i,s:f,s:f}]", /**/
        "type", "waits",                                                                        /**/
        "type", "wait-instance", "state", "late \"sender\"", "location", 1000, "from_s", 1e-6,
        "wait_s", 250e-9, "call", "MPI_Recv", "site", "a.c:7", "causer_call", "MPI_Send",
        "causer_rank", 4, "sigma_s", 12.5e-9, /**/
        "type", "wait-instance", "state", "late", "location", 3, "from_s", -1e-9, "wait_s", 40e-9,
        "causer_rank", 0, "sigma_s",                                           /**/
        "type", "wait-instance", "location", 3, "from_s", 0.0, "wait_s", 1e-6, /* no state */
        "type", "wait-sum", "state", "x", "location", 3, "from_s", 0.0, "wait_s", 1e-6,      /**/
        "type", "wait-instance", "state", "x", "location", 3, "from_s", 1e9, "wait_s", 1e-6, /**/
        "type", "wait-instance", "state", "x", "location", 3, "from_s", 0.0, "wait_s", 1e9);
    REQUIRE(waits);
    json_t *exported = export_read(path, waits);
    const json_t *b = record_of(exported, "b", 2, "late \"sender\"", 0);
    const json_t *e = record_of(exported, "e", 2, "late \"sender\"", 0);
    record_is_at(b, ENTER + 250);
    CHECK_NEAR(json_number_value(json_object_get(e, "ts")) * 1000.0, ENTER * TICK_NS + 1250, 1e-6);
    CHECK_STR(json_string_value(json_object_get(b, "cat")), "wait");
    CHECK_STR(json_string_value(json_object_get(b, "id")),
              json_string_value(json_object_get(e, "id")));
    CHECK_STR(json_string_value(argument_of(b, "call")), "MPI_Recv");
    CHECK_STR(json_string_value(argument_of(b, "site")), "a.c:7");
    CHECK_STR(json_string_value(argument_of(b, "for_call")), "MPI_Send");
    CHECK(json_integer_value(argument_of(b, "for_rank")) == 4);
    CHECK_NEAR(json_number_value(argument_of(b, "sigma_ns")), 12.5, 1e-6);
    CHECK(!json_object_get(e, "args"));
    const json_t *other = record_of(exported, "b", 1, "late", 0);
    record_is_at(other, ENTER); /* nothing is before the first event */
    CHECK_STR(json_string_value(argument_of(other, "call")), "");
    CHECK(json_is_null(argument_of(other, "sigma_ns")));
    CHECK(strcmp(json_string_value(json_object_get(other, "id")),
                 json_string_value(json_object_get(b, "id"))) != 0);
    for (int place = 0; place < LOCATIONS; place++) {
        CHECK(!record_of(exported, "b", place, NULL, place == 1 || place == 2));
        CHECK(!record_of(exported, "e", place, NULL, place == 1 || place == 2));
    }
    json_decref(exported);
    json_decref(waits);
}

static void refusals(const char *path)
{
    struct ictus_why why = {""};
    FILE *full = fopen("/dev/full", "w");
    REQUIRE(full);
    CHECK(ictus_trace_export_perfetto(NULL, NULL, full, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_trace_export_perfetto(path, NULL, NULL, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_trace_export_perfetto("/no/where", NULL, full, &why) != ICTUS_OK);
    CHECK(setvbuf(full, NULL, _IONBF, 0) == 0);
    CHECK(ictus_trace_export_perfetto(path, NULL, full, &why) == ICTUS_ERR_IO);
    CHECK(strstr(why.text, "the export cannot be written") != NULL);
    (void)fclose(full);
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

int main(void)
{
    char root[CHECK_PATH], path[CHECK_PATH + 8];
    REQUIRE(mkdtemp(check_scratch(root, "export")));
    (void)snprintf(path, sizeof path, "%s/run", root);
    run_write(path);
    archives_are_shown(path);
    waits_are_shown(path);
    refusals(path);
    (void)nftw(root, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    return check_result();
}
