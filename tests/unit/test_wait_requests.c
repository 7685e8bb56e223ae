/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for requests that are used again or cancelled, and in probes. */
#include "wait_program.h"

#include "waits/analysis.h"

/*
 * Request 9 is used three times, and cancelled once in between; 3 and 4 complete the other way
 * round. A send waits in the call that completes it, from its entry until the receive is posted:
 * request 5 is cancelled and posted again, and 6 was posted in time.
 */
static const char *const requests[] = {
    NODE_OF_TWO "region MPI_Issend 28 4\nregion MPI_Irecv 28 4\nregion MPI_Wait 28 4\n"
                "region MPI_Recv 28 4\nregion MPI_Ssend 28 4\nregion MPI_Cancel 28 4\ncomm 0 1\n",
    CALL(0, 1000, 1010, 0, EVENT(0, 1005, "isend 1 0 7 8 9")),
    CALL(0, 1020, 2000, 2, EVENT(0, 1990, "isenddone 9")),
    CALL(0, 2100, 2200, 2, EVENT(0, 2150, "isenddone 9")), /* the request no longer exists */
    CALL(0, 3000, 3010, 0, EVENT(0, 3005, "isend 1 0 7 8 9")),
    CALL(0, 3020, 3100, 5, EVENT(0, 3050, "cancelled 9")),
    CALL(0, 4000, 4010, 0, EVENT(0, 4005, "isend 1 0 7 8 9")),
    CALL(0, 4020, 4600, 2, EVENT(0, 4590, "isenddone 9")),
    CALL(0, 5000, 5010, 0, EVENT(0, 5005, "isend 1 0 7 8 3")),
    CALL(0, 5020, 5030, 0, EVENT(0, 5025, "isend 1 0 8 8 4")),
    CALL(0, 5040, 5700, 2, EVENT(0, 5690, "isenddone 4")),
    CALL(0, 5800, 6900, 2, EVENT(0, 6890, "isenddone 3")),
    CALL(0, 7060, 7210, 4, EVENT(0, 7065, "send 1 0 7 8")),
    CALL(0, 7300, 7500, 4, EVENT(0, 7305, "send 1 0 9 8")),
    CALL(1, 1500, 2010, 3, EVENT(1, 2005, "recv 0 0 7 8")),
    CALL(1, 4500, 4620, 3, EVENT(1, 4615, "recv 0 0 7 8")),
    CALL(1, 5600, 5710, 3, EVENT(1, 5705, "recv 0 0 8 8")),
    CALL(1, 6500, 6910, 3, EVENT(1, 6905, "recv 0 0 7 8")),
    CALL(1, 7000, 7010, 1, EVENT(1, 7005, "irecvpost 5")),
    CALL(1, 7020, 7030, 1, EVENT(1, 7025, "irecvpost 6")),
    CALL(1, 7040, 7050, 5, EVENT(1, 7045, "cancelled 5")),
    CALL(1, 7100, 7110, 1, EVENT(1, 7105, "irecvpost 5")),
    CALL(1, 7200, 7220, 2, EVENT(1, 7215, "irecv 0 0 7 8 5")),
    CALL(1, 7400, 7510, 2, EVENT(1, 7505, "irecv 0 0 9 8 6")),
    NULL};

static void requests_are_told(void)
{
    json_t *report = program_waits(requests);
    const json_t *left = json_object_get(json_array_get(report, 0), "left_out");
    CHECK(json_integer_value(json_object_get(left, "unmatched_sends")) == 0);
    CHECK_STR(told(report, "wait-pair", "state waiter causer n wait_s"),
              "late-receiver 0 1 5 2260\n");
    CHECK_STR(told(report, "wait-instance", "call from_s wait_s cause_s causer_call"),
              "MPI_Wait 4800 700 5500 MPI_Recv\n"
              "MPI_Wait 4040 560 4600 MPI_Recv\n"
              "MPI_Wait 20 480 500 MPI_Recv\n"
              "MPI_Wait 3020 480 3500 MPI_Recv\n"
              "MPI_Ssend 6060 40 6100 MPI_Irecv\n");
    json_decref(report);
}

/*
 * Who probes waits in the probe, if the message came until that returned and the receive is the
 * next call. The first call of all receives, too.
 */
static const char *const probes[] = {
    NODE_OF_TWO "region MPI_Probe 28 4\nregion MPI_Recv 28 4\nregion MPI_Send 28 4\n"
                "region MPI_Mprobe 28 4\nregion MPI_Iprobe 28 4\nregion MPI_Irecv 28 4\n"
                "region MPI_Wait 28 4\ncomm 0 1\n",
    CALL(0, 1000, 1100, 1, EVENT(0, 1090, "recv 1 0 7 8")),
    CALL(0, 2900, 2950, 2, EVENT(0, 2905, "send 1 0 7 8")),
    CALL(0, 5000, 5010, 2, EVENT(0, 5005, "send 1 0 7 8")), /* as the probe returns */
    CALL(0, 7001, 7008, 2, EVENT(0, 7005, "send 1 0 7 8")), /* a tick later */
    CALL(0, 8400, 8410, 2, EVENT(0, 8405, "send 1 0 7 8")),
    CALL(0, 9040, 9045, 2, EVENT(0, 9042, "send 1 0 7 8")),
    CALL(0, 10400, 10410, 2, EVENT(0, 10405, "send 1 0 7 8")),
    CALL(0, 11400, 11410, 2, EVENT(0, 11405, "send 1 0 7 8")),
    CALL(0, 11600, 11610, 1, EVENT(0, 11605, "recv 1 0 7 8")),
    CALL(1, 900, 910, 2, EVENT(1, 905, "send 0 0 7 8")),
    CALL(1, 2000, 3000, 0, ""),
    CALL(1, 3010, 3020, 1, EVENT(1, 3015, "recv 0 0 7 8")),
    CALL(1, 4000, 5000, 0, ""),
    CALL(1, 5020, 5030, 1, EVENT(1, 5025, "recv 0 0 7 8")),
    CALL(1, 6000, 7000, 0, ""),
    CALL(1, 7010, 7020, 1, EVENT(1, 7015, "recv 0 0 7 8")),
    CALL(1, 8000, 8500, 3, ""),
    CALL(1, 8510, 8520, 1, EVENT(1, 8515, "recv 0 0 7 8")),
    CALL(1, 9000, 9050, 4, ""), /* does not wait */
    CALL(1, 9060, 9070, 1, EVENT(1, 9065, "recv 0 0 7 8")),
    CALL(1, 10000, 10500, 0, ""),
    CALL(1, 10510, 10520, 5, EVENT(1, 10515, "irecvpost 5")), /* received in another call */
    CALL(1, 10600, 10610, 6, EVENT(1, 10605, "irecv 0 0 7 8 5")),
    CALL(1, 11000, 11500, 0, ""),
    CALL(1, 11510, 11520, 2, EVENT(1, 11515, "send 0 0 7 8")), /* another call in between */
    CALL(1, 11530, 11540, 1, EVENT(1, 11535, "recv 0 0 7 8")),
    NULL};

static void probes_are_told(void)
{
    json_t *report = program_waits(probes);
    CHECK_STR(told(report, "wait-pair", "state waiter causer n wait_s"),
              "late-sender 1 0 3 2300\n");
    CHECK_STR(told(report, "wait-instance", "call from_s wait_s cause_s causer_call"),
              "MPI_Probe 3100 1000 4100 MPI_Send\n"
              "MPI_Probe 1100 900 2000 MPI_Send\n"
              "MPI_Mprobe 7100 400 7500 MPI_Send\n");
    json_decref(report);
}

/*
 * Parts in collectives that do not count as arrivals: those on an inter-communicator, on one that
 * is not defined, and on a window. Two that were begun in one call are told apart by their order
 * there, in whichever order they complete.
 */
static const char *const parts[] = {
    NODE_OF_TWO "region MPI_Barrier 26 4\nregion MPI_Startall 28 4\nregion MPI_Waitall 28 4\n"
                "region MPI_Put 29 4\nregion MPI_Win_fence 29 4\ncomm 0 1\ncomm 0\ncomm 1\n"
                "inter 1 2\nwindow 0\n",
    CALL(0, 500, 510, 3, EVENT(0, 505, "rmaput 0 1 8 1")),
    MEET_IN(0, 1000, 1200, 0, 3),
    MEET_IN(0, 2000, 2200, 0, 9),
    FENCE(0, 3000, 3200),
    CALL(0, 4000, 4010, 1,
         EVENT(0, 4001, "begin") EVENT(0, 4002, "request 1") EVENT(0, 4003, "begin")
             EVENT(0, 4004, "request 2")),
    CALL(0, 4100, 4300, 2,
         EVENT(0, 4298, "complete 0 0 4294967295 0 0 1")
             EVENT(0, 4299, "complete 11 0 4294967295 8 8 2")),
    MEET_IN(1, 1100, 1200, 0, 3),
    MEET_IN(1, 2100, 2200, 0, 9),
    FENCE(1, 3100, 3200),
    CALL(1, 4050, 4060, 1,
         EVENT(1, 4051, "begin") EVENT(1, 4052, "request 1") EVENT(1, 4053, "begin")
             EVENT(1, 4054, "request 2")),
    CALL(1, 4200, 4310, 2,
         EVENT(1, 4298, "complete 11 0 4294967295 8 8 2")
             EVENT(1, 4299, "complete 0 0 4294967295 0 0 1")),
    NULL};

static void parts_are_told(void)
{
    struct ictus_arrivals_list list = {.at = NULL};
    struct ictus_arrivals_left left;
    struct ictus_why why = {""};
    program_write(parts);
    REQUIRE(!ictus_arrivals_extract(archive, 0, &list, &left, &why));
    CHECK(left.incomplete == 0 && left.muted == 0 && left.inter == 4);
    CHECK_STR(arrivals_told(&list), "MPI_Startall MPI_Startall barrier_init 0 2 -1 1\n"
                                    "0 1800 800\n"
                                    "50 1850 850\n"
                                    "1 110\n"
                                    "MPI_Startall#2 MPI_Startall allreduce_init 8 2 -1 1\n"
                                    "0 3500 800\n"
                                    "50 2950 850\n"
                                    "1 110\n");
    ictus_arrivals_list_free(&list);
}

/* Accesses to a window count only after the first lock: those before it cannot have waited. */
static const char *const accesses[] = {
    NODE_OF_TWO "region MPI_Put 29 4\nregion MPI_Win_lock 29 4\nregion MPI_Win_unlock 29 4\n"
                "comm 0 1\nwindow 0\n",
    CALL(0, 1000, 1010, 0, EVENT(0, 1005, "rmaput 0 1 8 1")),
    CALL(0, 2000, 2010, 1, EVENT(0, 2005, "rmaacquire 0 1 0 0")),
    CALL(0, 3000, 3010, 0, EVENT(0, 3005, "rmaput 0 1 8 2")),
    CALL(0, 4000, 4010, 2, EVENT(0, 4005, "rmarelease 0 1 0")),
    CALL(1, 1000, 1010, 0, EVENT(1, 1005, "rmaput 0 0 8 1")),
    NULL};

static void accesses_follow_locks(void)
{
    static const int64_t enters[] = {2000, 3000, 4000, 4010, 4010};
    struct analysis a = {.partners = {.list = {.area = NULL}}};
    struct ictus_why why = {""};
    program_write(accesses);
    REQUIRE(!ictusi_analysis_open(&a, archive, &why));
    REQUIRE(a.calls.first[1] == 5 && a.calls.first[2] == 6); /* with the release, and both ends */
    CHECK(a.calls.locks.count == 3);
    for (uint64_t i = 0; i < 5; i++) {
        CHECK(call_at(&a.calls, i)->enter - call_at(&a.calls, 0)->enter == enters[i] - 2000);
        CHECK(i > 2 || lock_note_at(&a.calls, i)->call == i);
    }
    CHECK(call_at(&a.calls, 3)->flags == CALL_BARE && call_at(&a.calls, 4)->flags == CALL_END);
    ictusi_analysis_close(&a);
}

/*
 * Of many functions that take turns between two calls, the time of each is kept once; so is that of
 * none that took no time.
 */
static void functions_are_kept_once(int functions)
{
    char text[TEXT] = NODE_OF_TWO "region MPI_Send 28 4\nregion MPI_Recv 28 4\ncomm 0 1\n";
    const char *const lines[] = {text, NULL};
    struct analysis a = {.partners = {.list = {.area = NULL}}};
    struct ictus_why why = {""};
    int time = 1000;
    for (int i = 0; i <= functions; i++) {
        text_add(text, "region f%d 1 1\n", i);
    }
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i <= functions; i++) { /* the last one takes no time */
            text_add(text, "0 %d enter %d\n", time, 2 + i);
            time += i < functions ? 1 + turn + i : 0;
            text_add(text, "0 %d leave %d\n", time, 2 + i);
        }
    }
    for (int k = 0; k < 2; k++) {
        text_add(text, "0 %d enter 0\n0 %d send 1 0 7 8\n0 %d leave 0\n", time, time, time);
        text_add(text, "0 %d enter 2\n0 %d leave 2\n", time, time + 5 * k);
        time += 5 * k;
    }
    text_add(text, "%s", CALL(1, 9000, 9100, 1, EVENT(1, 9050, "recv 0 0 7 8")));
    program_write(lines);
    REQUIRE(!ictusi_analysis_open(&a, archive, &why));
    REQUIRE(a.calls.first[1] == 3); /* two sends and the end */
    CHECK(call_delta_begin(&a.calls, 0) == 0);
    CHECK(call_at(&a.calls, 0)->delta_end == (uint32_t)functions);
    CHECK(call_at(&a.calls, 1)->delta_end == (uint32_t)functions);
    CHECK(call_at(&a.calls, 2)->delta_end == (uint32_t)functions + 1);
    for (int i = 0; i < functions; i++) {
        const struct share_of_time share = call_share(&a.calls, (uint64_t)i);
        CHECK(share.ticks == 3 * (1 + i) + 3);
        CHECK(a.paths.list[share.path].ref == (uint32_t)(2 + i));
    }
    CHECK(call_share(&a.calls, (uint64_t)functions).ticks == 5);
    ictusi_analysis_close(&a);
}

/* 0 waits 500 of 720 ns in all for 1, whose clock is known to 10 ns like its own. */
static const char *const apart[] = {
    "node a\nnode b\nprocess 0\nprocess 1\nlocation 0\nlocation 1\nregion MPI_Barrier 26 4\n"
    "comm 0 1\noffset 0 0 0 10\noffset 1 0 0 10\n",
    MEET_ALL(0, 1000, 1600, 0, 0, 0, 0), MEET_ALL(1, 1500, 1620, 0, 0, 0, 0), NULL};

static void shares_are_uncertain(void)
{
    json_t *report = program_waits(apart);
    size_t i = 0;
    int sites = 0;
    const json_t *object = NULL;
    json_array_foreach(report, i, object)
    {
        if (strcmp(json_string_value(json_object_get(object, "type")), "collective-site") == 0) {
            const double low = json_number_value(json_object_get(object, "skew_low"));
            const double high = json_number_value(json_object_get(object, "skew_high"));
            CHECK_NEAR(json_number_value(json_object_get(object, "skew_share")), 500.0 / 720, 0.01);
            CHECK_NEAR(low, (500 - 2 * 14) / 720.0, 0.015); /* two standard deviations */
            CHECK_NEAR(high, (500 + 2 * 14) / 720.0, 0.015);
            sites++;
        }
    }
    CHECK(sites == 1);
    json_decref(report);
}

int main(void)
{
    programs_begin();
    requests_are_told();
    probes_are_told();
    parts_are_told();
    accesses_follow_locks();
    shares_are_uncertain();
    functions_are_kept_once(1);
    functions_are_kept_once(7);
    functions_are_kept_once(8);
    functions_are_kept_once(9);
    functions_are_kept_once(20);
    return programs_end();
}
