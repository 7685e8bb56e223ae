/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The errors by which archives are skewed, on which all tests of their correction rest: their
 * kinds, as the man page defines them, of 26 locations at 51 instants within ten seconds.
 */
#include "../check.h"
#include "written_archive.h"

#include "archive/trace_open.h"

#include <ftw.h>
#include <ictus/correct.h>
#include <ictus/text.h>
#include <jansson.h>
#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Two processes a node; the last two locations are threads of one. */
enum { LOCATIONS = 26, PROCESSES = LOCATIONS - 1, EVENTS = 51, START = 1000, NS = 1000000000 };
static const int64_t tick = NS / 5; /* between events */
static char root[CHECK_PATH];

static int64_t time_of(int event)
{
    return START + tick * event;
}

static void write_definitions(OTF2_Archive *archive)
{
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(archive);
    OTF2_GlobalDefWriter_WriteClockProperties(d, NS, START, (uint64_t)tick * (EVENTS - 1),
                                              OTF2_UNDEFINED_TIMESTAMP);
    OTF2_GlobalDefWriter_WriteString(d, 0, "");
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 0, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t p = 0; p < PROCESSES; p++) {
        if (p % 2 == 0) {
            OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 1 + p / 2, 0, 0, 0);
            OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(d, 1 + p / 2,
                                                           OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
        }
        OTF2_GlobalDefWriter_WriteLocationGroup(d, p, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                1 + p / 2, OTF2_UNDEFINED_LOCATION_GROUP);
    }
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        OTF2_GlobalDefWriter_WriteLocation(d, l, 0, OTF2_LOCATION_TYPE_CPU_THREAD, EVENTS,
                                           l < PROCESSES ? l : PROCESSES - 1);
    }
    OTF2_Archive_CloseGlobalDefWriter(archive, d);
}

static void write_archive(const char *path)
{
    OTF2_Archive *archive = written_archive_open(path, 1 << 18);
    for (uint64_t l = 0; l < LOCATIONS; l++) {
        OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, l);
        for (int i = 0; i < EVENTS; i++) {
            OTF2_EvtWriter_MpiSend(writer, NULL, (uint64_t)time_of(i), 0, 0, 0, 0);
        }
        OTF2_Archive_CloseEvtWriter(archive, writer);
    }
    OTF2_Archive_CloseEvtFiles(archive);
    write_definitions(archive);
    OTF2_Archive_OpenDefFiles(archive);
    for (uint64_t l = 0; l < LOCATIONS; l++) {
        OTF2_Archive_CloseDefWriter(archive, OTF2_Archive_GetDefWriter(archive, l));
    }
    OTF2_Archive_CloseDefFiles(archive);
    REQUIRE(OTF2_Archive_Close(archive) == OTF2_SUCCESS);
}

/* What an archive says after it was skewed. */
struct skewed {
    int64_t stamp[LOCATIONS][EVENTS], first, length;
    struct clock_offset offsets[LOCATIONS][2];
    uint32_t offset_count;
};

struct reading {
    int64_t *stamps;
    int count;
};

static OTF2_CallbackCode event_met(OTF2_LocationRef location, OTF2_TimeStamp time,
                                   uint64_t position, void *data, OTF2_AttributeList *attributes,
                                   uint32_t receiver, OTF2_CommRef comm, uint32_t tag,
                                   uint64_t length)
{
    struct reading *r = data;
    (void)location, (void)position, (void)attributes, (void)receiver, (void)comm, (void)tag;
    (void)length;
    REQUIRE(r->count < EVENTS);
    r->stamps[r->count++] = (int64_t)time;
    return OTF2_CALLBACK_SUCCESS;
}

static void read_events(struct trace *trace, struct skewed *s)
{
    OTF2_EvtReaderCallbacks *set = OTF2_EvtReaderCallbacks_New();
    OTF2_EvtReaderCallbacks_SetMpiSendCallback(set, event_met);
    REQUIRE(OTF2_Reader_OpenEvtFiles(trace->reader) == OTF2_SUCCESS);
    for (uint64_t l = 0; l < LOCATIONS; l++) {
        struct reading r = {s->stamp[l], 0};
        uint64_t read = 0;
        OTF2_EvtReader *reader = OTF2_Reader_GetEvtReader(trace->reader, l);
        REQUIRE(reader);
        OTF2_EvtReader_ApplyClockOffsets(reader, false);
        OTF2_Reader_RegisterEvtCallbacks(trace->reader, reader, set, &r);
        CHECK(OTF2_Reader_ReadAllLocalEvents(trace->reader, reader, &read) == OTF2_SUCCESS);
        CHECK(r.count == EVENTS);
        OTF2_Reader_CloseEvtReader(trace->reader, reader);
    }
    OTF2_Reader_CloseEvtFiles(trace->reader);
    OTF2_EvtReaderCallbacks_Delete(set);
}

static struct skewed *skew(const char *how)
{
    static int made;
    struct skewed *s = calloc(1, sizeof(*s));
    struct trace *trace = NULL;
    struct ictus_why why = {""};
    json_t *report = NULL;
    char in[CHECK_PATH + 16], out[CHECK_PATH + 16];
    (void)snprintf(in, sizeof(in), "%s/good", root);
    (void)snprintf(out, sizeof(out), "%s/bad%d", root, made++);
    REQUIRE(s && !ictus_trace_skew(in, out, how, &report, &why));
    CHECK(json_integer_value(json_object_get(report, "events")) == LOCATIONS * EVENTS);
    json_decref(report);
    REQUIRE(!ictusi_archive_open(out, &trace, &why));
    read_events(trace, s);
    s->first = (int64_t)trace->global_offset;
    s->length = (int64_t)trace->layout.length;
    s->offset_count = trace->layout.locations[0].offset_count;
    for (int l = 0; l < LOCATIONS; l++) {
        CHECK(trace->layout.locations[l].offset_count == s->offset_count);
        for (uint32_t i = 0; i < s->offset_count && i < 2; i++) {
            s->offsets[l][i] = trace->layout.locations[l].offsets[i];
        }
    }
    ictusi_archive_close(trace);
    return s;
}

/* The error of a location's clock at an event, in ns: the first location's clock has none, but all
 * are raised alike so that no stamp is negative. */
static double error_at(const struct skewed *s, int location, int event)
{
    return (double)(s->stamp[location][event] - s->stamp[0][event]);
}

static double last_error(const struct skewed *s, int location)
{
    return error_at(s, location, EVENTS - 1);
}

static void free_all(struct skewed **list, int count)
{
    for (int i = 0; i < count; i++) {
        free(list[i]);
    }
}

/* Clocks are shared by those of a node, of a process, or by none. */
static void clocks_are_shared(void)
{
    static const char *const how[] = {"offset=1ms,scope=node", "offset=1ms,scope=process",
                                      "offset=1ms,scope=location", "offset=1ms"};
    for (int i = 0; i < 4; i++) {
        struct skewed *s = skew(how[i]);
        for (int a = 0; a < LOCATIONS; a++) {
            for (int b = 0; b < a; b++) {
                const int p = a < PROCESSES ? a : PROCESSES - 1;
                const int q = b < PROCESSES ? b : PROCESSES - 1;
                const bool together = i == 1 ? p == q : i == 2 ? false : p / 2 == q / 2;
                CHECK((error_at(s, a, 0) == error_at(s, b, 0)) == together);
            }
        }
        free(s);
    }
}

/* Offsets stay, and drifts are straight; both are drawn from the whole range. */
static void offsets_and_drifts_are_drawn(void)
{
    struct skewed *offset = skew("offset=1ms,scope=location");
    struct skewed *drift = skew("drift=100ppm,scope=location");
    double low[2] = {0, 0}, high[2] = {0, 0};
    for (int l = 1; l < LOCATIONS; l++) {
        const double ppm = last_error(drift, l) / 10e3;
        for (int i = 0; i < EVENTS; i++) {
            CHECK_NEAR(error_at(offset, l, i), error_at(offset, l, 0), 1);
            CHECK_NEAR(error_at(drift, l, i), last_error(drift, l) * i / (EVENTS - 1), 2);
        }
        low[0] = fmin(low[0], error_at(offset, l, 0) / 1e6);
        high[0] = fmax(high[0], error_at(offset, l, 0) / 1e6);
        low[1] = fmin(low[1], ppm / 100);
        high[1] = fmax(high[1], ppm / 100);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(low[i] > -1 && low[i] < -0.6 && high[i] > 0.6 && high[i] < 1);
    }
    CHECK(offset->first >= 0 && offset->first < START + 10);
    CHECK(drift->first == START); /* where nothing need be raised */
    CHECK_NEAR(drift->length, 10e9 + fmax(0, high[1]) * 100e-6 * 10e9 + 1, 3);
    free(offset);
    free(drift);
}

/* A sinusoid has its period and amplitude, begins at 0, and not always in the same phase. */
static void sines_are_sines(void)
{
    struct skewed *s = skew("sine=1ms,period=800ms,scope=location");
    int rising = 0;
    for (int l = 1; l < LOCATIONS; l++) {
        CHECK_NEAR(error_at(s, l, 0), 0, 1);
        rising += error_at(s, l, 1) > 0;
        for (int i = 0; i + 4 < EVENTS; i++) {
            CHECK_NEAR(error_at(s, l, i + 4), error_at(s, l, i), 100);
            CHECK_NEAR(hypot(error_at(s, l, i) - error_at(s, l, i + 2),
                             error_at(s, l, i + 1) - error_at(s, l, i + 3)),
                       2e6, 200);
        }
    }
    CHECK(rising > 5 && rising < LOCATIONS - 6);
    free(s);
}

/* Within the middle three fifths the rate steps up or down, or the clock jumps, once. */
static void steps_are_taken_once(void)
{
    struct skewed *step = skew("step=100ppm,scope=location");
    struct skewed *jump = skew("jump=1ms,scope=location");
    int up = 0;
    double first = EVENTS, last = 0;
    for (int l = 1; l < LOCATIONS; l++) {
        const double sign = last_error(jump, l) > 0 ? 1 : -1;
        const double began = 10e9 - fabs(last_error(step, l)) / 100e-6; /* ns after the start */
        int between = 0;
        up += sign > 0;
        first = fmin(first, began / (double)tick);
        last = fmax(last, began / (double)tick);
        for (int i = 0; i < EVENTS; i++) {
            const double passed = fmax(0, (double)(tick * i) - began);
            CHECK_NEAR(error_at(step, l, i), sign * 100e-6 * passed, 200);
            between += fabs(error_at(jump, l, i) - (passed > 0 ? sign * 1e6 : 0)) > 1;
        }
        CHECK(between <= 1);
    }
    CHECK(up > 4 && up < LOCATIONS - 5);
    CHECK(first >= 10 && first < 14 && last > 36 && last <= 40.1);
    free(step);
    free(jump);
}

/* The rate walks by so much in the square root of a second; `bad` is the walk of clock 1 alone. */
static void walks_are_as_strong(void)
{
    struct skewed *all[] = {skew("walk=1ppm,scope=location"), skew("walk=2ppm,scope=location"),
                            skew("bad=2ppm,scope=location"),
                            skew("walk=1ppm,bad=2ppm,scope=location")};
    double squares = 0;
    for (int l = 1; l < LOCATIONS; l++) {
        squares += pow(last_error(all[0], l) / (1e-6 * 1e9 * pow(10, 1.5) / sqrt(3)), 2);
        for (int i = 0; i < EVENTS; i++) {
            CHECK_NEAR(error_at(all[1], l, i), 2 * error_at(all[0], l, i), 4);
            CHECK_NEAR(error_at(all[2], l, i), l == 1 ? error_at(all[1], l, i) : 0, 1);
            CHECK_NEAR(error_at(all[3], l, i), error_at(all[l == 1], l, i), 1);
        }
    }
    CHECK(sqrt(squares / (LOCATIONS - 1)) > 0.7 && sqrt(squares / (LOCATIONS - 1)) < 1.3);
    free_all(all, 4);
}

/* Errors of several kinds add up, and one that is asked for changes no other. Other seeds draw
 * other errors, and the same seed the same. */
static void errors_add_up(void)
{
    struct skewed *all[] = {skew("offset=1ms,scope=process"),
                            skew("drift=100ppm,scope=process"),
                            skew("sine=1ms,period=3s,scope=process"),
                            skew("step=50ppm,jump=1ms,scope=process"),
                            skew("walk=1ppm,scope=process"),
                            skew("offset=1ms,drift=100ppm,sine=1ms,period=3s,step=50ppm,jump=1ms,"
                                 "walk=1ppm,scope=process,noise=1us,offsets=both"),
                            skew("offset=1ms,scope=process,seed=1"),
                            skew("offset=1ms,scope=process,seed=2")};
    for (int l = 1; l < LOCATIONS; l++) {
        for (int i = 0; i < EVENTS; i++) {
            double sum = 0;
            for (int k = 0; k < 5; k++) {
                sum += error_at(all[k], l, i);
            }
            CHECK_NEAR(error_at(all[5], l, i), sum, 6);
        }
        CHECK(error_at(all[6], l, 0) == error_at(all[0], l, 0));
        CHECK(error_at(all[7], l, 0) != error_at(all[0], l, 0));
    }
    free_all(all, 8);
}

/* The offsets of the output are true but for their noise, at the start, or also at the end. The
 * clock's properties span all stamps. */
static void offsets_are_told(void)
{
    struct skewed *all[] = {skew("offset=1ms,drift=100ppm,scope=location,offsets=drop"),
                            skew("offset=1ms,drift=100ppm,scope=location,sd=3us"),
                            skew("offset=1ms,drift=100ppm,scope=location,offsets=both"),
                            skew("offset=1ms,drift=100ppm,scope=location,offsets=both,noise=5us"),
                            skew("offset=1ms,drift=100ppm,scope=location,offsets=start,noise=5us")};
    double squares = 0;
    CHECK(all[0]->offset_count == 0);
    for (int k = 1; k < 5; k++) {
        int64_t first = INT64_MAX, last = 0;
        REQUIRE(all[k]->offset_count == 2);
        for (int l = 0; l < LOCATIONS; l++) {
            const int64_t *stamps = all[k]->stamp[l];
            const struct clock_offset *o = all[k]->offsets[l];
            const bool both = k == 2 || k == 3;
            const int64_t end = both ? EVENTS - 1 : 0;
            const double at_start = (double)(o[0].offset + (int64_t)o[0].time - START);
            const double at_end = (double)(o[1].offset + stamps[end] - time_of((int)end));
            CHECK(o[0].time == (uint64_t)stamps[0]);
            CHECK(o[1].time == (uint64_t)stamps[end] + !both);
            CHECK_NEAR(o[0].sd, k == 1 ? 3000 : 0, 1e-9);
            CHECK_NEAR(o[1].sd, k == 1 ? 3000 : 0, 1e-9);
            if (k < 3 || l == 0) {
                CHECK(fabs(at_start) <= 1 && fabs(at_end) <= 1);
            } else if (k == 3) {
                squares += at_start * at_start + at_end * at_end;
                CHECK(fabs(at_start - at_end) > 1);
            } else {
                CHECK_NEAR(at_start, at_end, 1);
                CHECK(fabs(at_start) > 1);
            }
            first = stamps[0] < first ? stamps[0] : first;
            last = stamps[EVENTS - 1] > last ? stamps[EVENTS - 1] : last;
        }
        CHECK(all[k]->first == first && all[k]->length == last - first + 1);
    }
    const double rms = sqrt(squares / (2 * (LOCATIONS - 1)));
    CHECK(rms > 4000 && rms < 6000);
    free_all(all, 5);
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

int main(void)
{
    char path[CHECK_PATH + 16];
    REQUIRE(mkdtemp(check_scratch(root, "skew")));
    (void)snprintf(path, sizeof(path), "%s/good", root);
    write_archive(path);
    clocks_are_shared();
    offsets_and_drifts_are_drawn();
    sines_are_sines();
    steps_are_taken_once();
    walks_are_as_strong();
    errors_add_up();
    offsets_are_told();
    CHECK(nftw(root, entry_remove, 16, FTW_DEPTH | FTW_PHYS) == 0);
    return check_result();
}
