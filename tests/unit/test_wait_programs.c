/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs written down event by event, from the archive to the whole report: who waited, for whom,
 * since when and how long, what caused it, where the critical path runs, and how processes arrived.
 * All values were worked out by hand. All processes read one clock, so that they are exact.
 */
#include "wait_program.h"

/*
 * 0 works for 2000 ns before it sends, 1 only for 500. The path of the program goes through
 * whoever came last to each of the collectives.
 */
static const char *const talk[] = {
    NODE_OF_TWO "region main 1 1\nregion work 1 1\nregion MPI_Send 28 4\nregion MPI_Recv 28 4\n"
                "region MPI_Barrier 26 4\nregion MPI_Bcast 23 4\nregion MPI_Reduce 24 4\n"
                "region MPI_Allreduce 25 4\ncomm 0 1\n",
    EVENT(0, 1000, "enter 0") CALL(0, 1000, 3000, 1, ""),
    CALL(0, 3000, 3100, 2, EVENT(0, 3010, "send 1 0 7 64")),
    MEET_ALL(0, 4000, 4700, 4, 0, 0, 0),
    MEET(0, 5500, 5520, 5, 1, 0, 64, 0),
    MEET(0, 6000, 6400, 6, 12, 0, 0, 32),
    MEET_ALL(0, 7400, 7500, 7, 11, 16, 16),
    MEET_ALL(0, 7700, 7950, 4, 0, 0, 0),
    EVENT(0, 8000, "leave 0"),
    EVENT(1, 1000, "enter 0") CALL(1, 1500, 3200, 3, EVENT(1, 3190, "recv 0 0 7 64")),
    MEET_ALL(1, 4600, 4750, 4, 0, 0, 0),
    MEET(1, 5000, 5600, 5, 1, 0, 0, 64),
    MEET(1, 6300, 6320, 6, 12, 0, 32, 0),
    MEET_ALL(1, 7000, 7530, 7, 11, 16, 16),
    MEET_ALL(1, 7900, 7960, 4, 0, 0, 0),
    EVENT(1, 8010, "leave 0"),
    NULL};

static void talk_is_told(void)
{
    json_t *report = program_waits(talk);
    CHECK_STR(told(report, "wait-pair", "state waiter causer n wait_s"),
              "barrier 0 1 2 800\n"
              "early-reduce 0 1 1 300\n"
              "late-sender 1 0 1 1500\n"
              "nxn 1 0 1 400\n"
              "late-broadcast 1 0 1 500\n");
    CHECK_STR(told(report, "waits",
                   "processes locations nodes wall_s rank_time_s sigma_source n wait_s wait_low_s "
                   "wait_high_s wait_raw_s share decidable kind unattributed_s"),

              "2 2 1 7010 14010 one-clock 6 3500 3500 3500 3500 0.2498 1.0000 exact 0\n");
    CHECK_STR(told(report, "wait-total", "state n wait_s share kind call rank"),
              "late-sender 1 1500 0.1071 exact - -\n"
              "barrier 2 800 0.0571 exact - -\n"
              "nxn 1 400 0.0286 exact - -\n"
              "late-broadcast 1 500 0.0357 exact - -\n"
              "early-reduce 1 300 0.0214 exact - -\n"
              "barrier-completion 2 60 0.0043 exact - -\n"
              "nxn-completion 1 30 0.0021 exact - -\n");
    CHECK_STR(told(report, "wait-site", "state n wait_s call site rank"),
              "late-sender 1 1500 MPI_Recv main/MPI_Recv -\n"
              "barrier 2 800 MPI_Barrier main/MPI_Barrier -\n"
              "nxn 1 400 MPI_Allreduce main/MPI_Allreduce -\n"
              "late-broadcast 1 500 MPI_Bcast main/MPI_Bcast -\n"
              "early-reduce 1 300 MPI_Reduce main/MPI_Reduce -\n"
              "barrier-completion 2 60 MPI_Barrier main/MPI_Barrier -\n"
              "nxn-completion 1 30 MPI_Allreduce main/MPI_Allreduce -\n");
    CHECK_STR(told(report, "wait-state", "state n wait_s call rank location"),
              "late-sender 1 1500 MPI_Recv 1 1\n"
              "barrier 2 800 MPI_Barrier 0 0\n"
              "nxn 1 400 MPI_Allreduce 1 1\n"
              "late-broadcast 1 500 MPI_Bcast 1 1\n"
              "early-reduce 1 300 MPI_Reduce 0 0\n"
              "barrier-completion 2 60 MPI_Barrier 1 1\n"
              "nxn-completion 1 30 MPI_Allreduce 1 1\n");
    CHECK_STR(told(report, "wait-rank", "state n wait_s call rank"), "late-sender 1 1500 - 1\n"
                                                                     "barrier 2 800 - 0\n"
                                                                     "nxn 1 400 - 1\n"
                                                                     "late-broadcast 1 500 - 1\n"
                                                                     "early-reduce 1 300 - 0\n"
                                                                     "barrier-completion 2 60 - 1\n"
                                                                     "nxn-completion 1 30 - 1\n");
    json_decref(report);
}

/*
 * Of a wait, each call path of the late process has caused its share of what it took longer than in
 * the process that waited, since both were together the last time.
 */
static void causes_are_told(void)
{
    json_t *report = program_waits(talk);
    CHECK_STR(
        told(report, "wait-cause", "rank call site direct_s indirect_s share share_low draws"),
        "0 work main/work 1500 0 0.4286 0.4286 -\n"
        "0 main main 820 0 0.2343 0.2343 -\n"
        "1 main main 819 0 0.2339 0.2339 -\n"
        "1 MPI_Recv main/MPI_Recv 171 0 0.0490 0.0490 -\n"
        "0 MPI_Reduce main/MPI_Reduce 80 0 0.0229 0.0229 -\n"
        "1 MPI_Bcast main/MPI_Bcast 80 0 0.0229 0.0229 -\n"
        "1 MPI_Allreduce main/MPI_Allreduce 30 0 0.0086 0.0086 -\n");
    CHECK_STR(told(report, "critical-path", "of rank site time_s share stretches imbalance_s"),
              "program - - 7010 - 6 -\n"
              "rank 0 - 4000 0.5706 - -\n"
              "rank 1 - 3010 0.4294 - -\n"
              "site - main 4320 0.6163 - 630\n"
              "site - main/MPI_Allreduce 130 0.0185 - 15\n"
              "site - main/MPI_Barrier 160 0.0228 - 0\n"
              "site - main/MPI_Reduce 100 0.0143 - 40\n"
              "site - main/MPI_Bcast 100 0.0143 - 40\n"
              "site - main/MPI_Recv 200 0.0285 - 100\n"
              "site - main/work 2000 0.2853 - 1000\n");
    CHECK_STR(
        told(report, "collective-site", "site calls time_s skew_s transfer_s skew_share verdict"),

        "main/MPI_Barrier 4 1160 800 360 0.6897 skew\n"
        "main/MPI_Bcast 2 620 500 120 0.8065 skew\n"
        "main/MPI_Reduce 2 420 300 120 0.7143 skew\n"
        "main/MPI_Allreduce 2 630 400 230 0.6349 mixed\n");
    CHECK_STR(told(report, "wait-instance",
                   "state call from_s wait_s cause_s sigma_s rank causer causer_call"),

              "late-sender MPI_Recv 500 1500 2000 0 1 0 MPI_Send\n"
              "barrier MPI_Barrier 3000 600 3600 0 0 1 MPI_Barrier\n"
              "late-broadcast MPI_Bcast 4000 500 4500 0 1 0 MPI_Bcast\n"
              "nxn MPI_Allreduce 6000 400 6400 0 1 0 MPI_Allreduce\n"
              "early-reduce MPI_Reduce 5000 300 5300 0 0 1 MPI_Reduce\n"
              "barrier MPI_Barrier 6700 200 6900 0 0 1 MPI_Barrier\n");
    json_decref(report);
}

/* Epochs, fences and locks of a window, with and without waits. */
static const char *const windows[] = {
    NODE_OF_TWO
    "region MPI_Win_post 29 4\nregion MPI_Win_start 29 4\nregion MPI_Win_complete 29 4\n"
    "region MPI_Win_wait 29 4\nregion MPI_Win_fence 29 4\nregion MPI_Win_lock 29 4\n"
    "region MPI_Win_unlock 29 4\ncomm 0 1\nwindow 0\n",
    /* 0 starts before 1 posts; 1 waits before 0 completes */
    CALL(0, 500, 1300, 1, ""), CALL(0, 2000, 2100, 2, EVENT(0, 2050, "rmasync 0 1 2")),
    /* start returns before the post, so that complete waits for it; nobody waits after that */
    CALL(0, 2500, 2520, 1, ""), CALL(0, 3000, 3600, 2, EVENT(0, 3550, "rmasync 0 1 2")),
    FENCE(0, 5000, 5700), CALL(0, 7000, 7010, 5, EVENT(0, 7005, "rmaacquire 0 1 0 0")),
    CALL(0, 7500, 7600, 6, EVENT(0, 7590, "rmarelease 0 1 0")),
    /* shared locks do not exclude each other */
    CALL(0, 8000, 8010, 5, EVENT(0, 8005, "rmaacquire 0 1 0 1")),
    CALL(0, 8500, 8600, 6, EVENT(0, 8590, "rmarelease 0 1 0")),
    CALL(1, 1000, 1100, 0, EVENT(1, 1050, "rmasync 0 0 0")),
    CALL(1, 1500, 2150, 3, EVENT(1, 2140, "rmasync 0 0 1")),
    CALL(1, 3400, 3420, 0, EVENT(1, 3410, "rmasync 0 0 0")),
    CALL(1, 3700, 3710, 3, EVENT(1, 3705, "rmasync 0 0 1")), FENCE(1, 5400, 5720),
    CALL(1, 7100, 7650, 5, EVENT(1, 7640, "rmaacquire 0 1 0 0")),
    CALL(1, 7700, 7800, 6, EVENT(1, 7790, "rmarelease 0 1 0")),
    CALL(1, 8100, 8650, 5, EVENT(1, 8640, "rmaacquire 0 1 0 1")),
    CALL(1, 8700, 8800, 6, EVENT(1, 8790, "rmarelease 0 1 0")), NULL};

static void windows_are_told(void)
{
    json_t *report = program_waits(windows);
    CHECK_STR(told(report, "wait-pair", "state waiter causer n wait_s"), "fence 0 1 1 400\n"
                                                                         "late-post 0 1 2 900\n"
                                                                         "early-wait 1 0 1 500\n"
                                                                         "rma-lock 1 0 1 500\n");
    CHECK_STR(told(report, "wait-instance", "state call from_s wait_s cause_s causer_call"),
              "late-post MPI_Win_start 0 500 500 MPI_Win_post\n"
              "early-wait MPI_Win_wait 1000 500 1500 MPI_Win_complete\n"
              "rma-lock MPI_Win_lock 6600 500 7100 MPI_Win_unlock\n"
              "late-post MPI_Win_complete 2500 400 2900 MPI_Win_post\n"
              "fence MPI_Win_fence 4500 400 4900 MPI_Win_fence\n");
    json_decref(report);
}

/* Messages whose calls are apart, and those whose waits are not known. */
static const char *const requests[] = {
    NODE_OF_TWO "region MPI_Ssend 28 4\nregion MPI_Recv 28 4\nregion MPI_Isend 28 4\n"
                "region MPI_Irecv 28 4\nregion MPI_Wait 28 4\nregion MPI_Send 28 4\ncomm 0 1\n",
    CALL(0, 1000, 2000, 0, EVENT(0, 1010, "send 1 0 7 8")),
    CALL(0, 3500, 3520, 2, EVENT(0, 3510, "isend 1 0 7 8 9")),
    CALL(0, 3600, 3610, 4, EVENT(0, 3605, "isenddone 9")),
    CALL(0, 5800, 5850, 5, EVENT(0, 5810, "send 1 0 7 8")),
    CALL(0, 7000, 7050, 5, EVENT(0, 7010, "send 1 0 1 8")),
    CALL(0, 7100, 7150, 5, EVENT(0, 7110, "send 1 0 2 8")),
    EVENT(0, 8000, "enter 1") EVENT(0, 8450, "recv 1 0 7 8"), /* it never ends */
    CALL(1, 1800, 2050, 1, EVENT(1, 2040, "recv 0 0 7 8")),
    CALL(1, 3000, 3010, 3, EVENT(1, 3005, "irecvpost 5")),
    CALL(1, 3100, 3900, 4, EVENT(1, 3890, "irecv 0 0 7 8 5")),
    CALL(1, 5000, 6000, 1,
         EVENT(1, 5500, "onoff 2") EVENT(1, 5600, "onoff 1") EVENT(1, 5990, "recv 0 0 7 8")),
    CALL(1, 6500, 7160, 1, EVENT(1, 7155, "recv 0 0 2 8")),
    CALL(1, 7200, 7250, 1, EVENT(1, 7240, "recv 0 0 1 8")),
    CALL(1, 8400, 8410, 5, EVENT(1, 8405, "send 0 0 7 8")),
    NULL};

static void requests_are_told(void)
{
    json_t *report = program_waits(requests);
    const json_t *left = json_object_get(json_array_get(report, 0), "left_out");
    CHECK(json_integer_value(json_object_get(left, "muted_waits")) == 1);
    CHECK(json_integer_value(json_object_get(left, "calls_cut")) == 1);
    CHECK(json_integer_value(json_object_get(left, "without_region")) == 0);
    CHECK(json_integer_value(json_object_get(left, "unmatched_sends")) == 0);
    CHECK_STR(told(report, "wait-pair", "state waiter causer n wait_s"),
              "late-receiver 0 1 1 800\n"
              "late-sender 1 0 2 1000\n");
    CHECK_STR(told(report, "wait-total", "state n wait_s"), "late-sender 2 1000\n"
                                                            "late-receiver 1 800\n"
                                                            "wrong-order 1 600\n");
    CHECK_STR(told(report, "wait-instance", "state call from_s wait_s cause_s causer_call"),
              "late-receiver MPI_Ssend 0 800 800 MPI_Recv\n"
              "late-sender MPI_Recv 5500 600 6100 MPI_Send\n"
              "late-sender MPI_Wait 2100 400 2500 MPI_Isend\n");
    json_decref(report);
}

/* A lock, a barrier of a team and its end. */
static const char *const threads[] = {
    "node a\nprocess 0\nlocation 0\nlocation 0\nregion parallel 5 3\nregion omp_barrier 15 3\n"
    "region omp_critical 12 3\ncomm 0\nteam 0 1\n",
    EVENT(0, 1000, "enter 0") EVENT(0, 1010, "fork 2") EVENT(0, 1020, "teambegin 1"),
    CALL(0, 1100, 1600, 2, EVENT(0, 1120, "acquire 0 1") EVENT(0, 1590, "release 0 1")),
    CALL(0, 2000, 2600, 1, ""),
    EVENT(0, 2610, "teamend 1") EVENT(0, 2700, "join") EVENT(0, 2710, "leave 0"),
    EVENT(1, 1030, "teambegin 1"),
    CALL(1, 1200, 1800, 2, EVENT(1, 1610, "acquire 0 2") EVENT(1, 1790, "release 0 2")),
    CALL(1, 2400, 2620, 1, "") EVENT(1, 2630, "teamend 1"),
    NULL};

static void threads_are_told(void)
{
    json_t *report = program_waits(threads);
    CHECK_STR(told(report, "wait-pair", "state waiter causer n wait_s"), "team-barrier 0 1 1 400\n"
                                                                         "lock 1 0 1 390\n");
    CHECK_STR(told(report, "wait-instance",
                   "state call from_s wait_s cause_s rank thread causer_rank causer_thread"),

              "team-barrier omp_barrier 1000 400 1400 0 - 0 thread\n"
              "lock omp_critical 200 390 590 0 thread 0 -\n");
    CHECK_STR(told(report, "wait-rank", "state wait_s rank location thread"),
              "team-barrier 400 0 0 -\n"
              "lock 390 0 1 thread\n");
    json_decref(report);
}

enum { FUNCTIONS = 12 };

/*
 * 0 runs twelve functions twice, the first time for 100 + 10 i, then for 50 ns, before it sends.
 * Each has caused as much of the wait for it as it took.
 */
static void many_functions_are_told(void)
{
    char text[TEXT] = NODE_OF_TWO "region MPI_Send 28 4\nregion MPI_Recv 28 4\ncomm 0 1\n";
    const char *const lines[] = {text, NULL};
    char wanted[TEXT] = "";
    int time = 1000;
    for (int i = 0; i < FUNCTIONS; i++) {
        text_add(text, "region f%d 1 1\n", i);
    }
    text_add(text, "0 %d enter 2\n", time);
    text_add(text, "0 %d leave 2\n", time);
    for (int run = 0; run < 2; run++) {
        for (int i = 0; i < FUNCTIONS; i++) {
            text_add(text, "0 %d enter %d\n", time, 2 + i);
            time += run ? 50 : 100 + 10 * i;
            text_add(text, "0 %d leave %d\n", time, 2 + i);
        }
    }
    CHECK(time == 3460);
    text_add(text, "%s",
             CALL(0, 3460, 3500, 0, EVENT(0, 3470, "send 1 0 7 8"))
                 CALL(1, 1000, 3600, 1, EVENT(1, 3590, "recv 0 0 7 8")));
    for (int i = FUNCTIONS; i-- > 0;) {
        text_add(wanted, "0 f%d %d 0\n", i, 150 + 10 * i);
    }
    json_t *report = program_waits(lines);
    CHECK_STR(told(report, "wait-pair", "state waiter causer n wait_s"),
              "late-sender 1 0 1 2460\n");
    CHECK_STR(told(report, "wait-cause", "rank call direct_s indirect_s"), wanted);
    json_decref(report);
}

/* What is told of those that met once, however many instances are asked for. */
#define MET_ONCE                                                                                   \
    "main#2 MPI_Bcast bcast 64 2 0 1\n"                                                            \
    "500 4500 800\n"                                                                               \
    "0 4000 250\n"                                                                                 \
    "1 100\n"                                                                                      \
    "main#3 MPI_Allreduce allreduce 16 2 -1 1\n"                                                   \
    "400 6400 1000\n"                                                                              \
    "0 6000 680\n"                                                                                 \
    "1 130\n"                                                                                      \
    "main#4 MPI_Reduce reduce 32 2 0 1\n"                                                          \
    "0 5000 480\n"                                                                                 \
    "300 5300 700\n"                                                                               \
    "1 100\n"

static void arrivals_are_told(void)
{
    struct ictus_arrivals_list list = {.at = NULL};
    struct ictus_arrivals_left left;
    struct ictus_why why = {""};
    CHECK(ictus_arrivals_extract(NULL, 0, &list, &left, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_arrivals_extract(archive, 0, NULL, &left, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_arrivals_extract(archive, -1, &list, &left, &why) == ICTUS_ERR_ARG);
    program_write(talk);
    REQUIRE(!ictus_arrivals_extract(archive, 0, &list, &left, &why));
    CHECK(left.incomplete == 0 && left.muted == 0 && left.inter == 0);
    CHECK_STR(arrivals_told(&list), "main MPI_Barrier barrier 0 2 -1 2\n"
                                    "0 3000 900\n"
                                    "600 3600 1400\n"
                                    "0 3000 200\n"
                                    "200 3150 370\n"
                                    "1 150\n"
                                    "1 60\n" MET_ONCE);
    ictus_arrivals_list_free(&list);
    REQUIRE(!ictus_arrivals_extract(archive, 1, &list, NULL, NULL));
    CHECK_STR(arrivals_told(&list), "main MPI_Barrier barrier 0 2 -1 2\n"
                                    "0 3000 200\n"
                                    "200 3150 370\n"
                                    "1 60\n" MET_ONCE);
    ictus_arrivals_list_free(&list);
}

int main(void)
{
    programs_begin();
    talk_is_told();
    causes_are_told();
    windows_are_told();
    requests_are_told();
    threads_are_told();
    many_functions_are_told();
    arrivals_are_told();
    return programs_end();
}
