/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs whose waits are told apart by one tick, by a name, or by what was not recorded. */
#include "wait_program.h"

#define NODE_OF_THREE                                                                              \
    "node a\nprocess 0\nprocess 0\nprocess 0\nlocation 0\nlocation 1\nlocation 2\n"

/* 1 and 2 come at once, and 0 waits for 1. In each function another one waits for a message. */
static const char *const three[] = {
    NODE_OF_THREE "region f 1 1\nregion g 1 1\nregion MPI_Send 28 4\nregion MPI_Recv 28 4\n"
                  "region MPI_Barrier 26 4\nregion MPI_Scan 26 4\ncomm 0 1 2\n",
    MEET_ALL(0, 1000, 1600, 4, 0, 0, 0),
    MEET_ALL(0, 2000, 2010, 5, 14, 8, 8),
    CALL(0, 3000, 3010, 2, EVENT(0, 3005, "send 1 0 7 8")),
    CALL(0, 3100, 3110, 2, EVENT(0, 3105, "send 2 0 7 8")),
    CALL(0, 3200, 3210, 2, EVENT(0, 3205, "send 1 0 7 8")),
    MEET_ALL(0, 9000, 9100, 4, 0, 0, 0),
    MEET_ALL(1, 1500, 1610, 4, 0, 0, 0),
    MEET_ALL(1, 2300, 2310, 5, 14, 8, 8),
    CALL(1, 2500, 3050, 1, CALL(1, 2600, 3040, 3, EVENT(1, 3030, "recv 0 0 7 8"))),
    CALL(1, 3055, 3250, 0, CALL(1, 3060, 3240, 3, EVENT(1, 3230, "recv 0 0 7 8"))),
    MEET_ALL(1, 8000, 9100, 4, 0, 0, 0),
    MEET_ALL(2, 1500, 1620, 4, 0, 0, 0),
    MEET_ALL(2, 2100, 2320, 5, 14, 8, 8),
    CALL(2, 2700, 3150, 0, CALL(2, 2800, 3140, 3, EVENT(2, 3130, "recv 0 0 7 8"))),
    MEET_ALL(2, 8999, 9100, 4, 0, 0, 0),
    NULL};

static void three_are_told_apart(void)
{
    json_t *report = program_waits(three);
    CHECK_STR(told(report, "wait-pair", "state waiter causer n wait_s"), "barrier 0 1 1 500\n"
                                                                         "late-sender 1 0 2 540\n"
                                                                         "barrier 1 0 1 1000\n"
                                                                         "late-sender 2 0 1 300\n"
                                                                         "barrier 2 0 1 1\n"
                                                                         "early-scan 2 1 1 200\n");
    CHECK_STR(told(report, "wait-total", "state n wait_s"), "late-sender 3 840\n"
                                                            "barrier 3 1501\n"
                                                            "early-scan 1 200\n"
                                                            "barrier-completion 2 30\n");
    CHECK_STR(told(report, "wait-site", "state n wait_s site"),
              "late-sender 1 400 g/MPI_Recv\n"
              "late-sender 2 440 f/MPI_Recv\n"
              "barrier 3 1501 MPI_Barrier\n"
              "early-scan 1 200 MPI_Scan\n"
              "barrier-completion 2 30 MPI_Barrier\n");
    CHECK_STR(told(report, "wait-state", "state n wait_s site rank"),
              "late-sender 1 400 g/MPI_Recv 1\n"
              "late-sender 1 140 f/MPI_Recv 1\n"
              "late-sender 1 300 f/MPI_Recv 2\n"
              "barrier 1 500 MPI_Barrier 0\n"
              "barrier 1 1000 MPI_Barrier 1\n"
              "barrier 1 1 MPI_Barrier 2\n"
              "early-scan 1 200 MPI_Scan 2\n"
              "barrier-completion 1 10 MPI_Barrier 1\n"
              "barrier-completion 1 20 MPI_Barrier 2\n");
    CHECK_STR(told(report, "wait-rank", "state n wait_s rank"), "late-sender 2 540 1\n"
                                                                "late-sender 1 300 2\n"
                                                                "barrier 1 500 0\n"
                                                                "barrier 1 1000 1\n"
                                                                "barrier 1 1 2\n"
                                                                "early-scan 1 200 2\n"
                                                                "barrier-completion 1 10 1\n"
                                                                "barrier-completion 1 20 2\n");
    CHECK_STR(told(report, "critical-path", "of rank time_s stretches"), "program - 7600 2\n"
                                                                         "rank 0 7600 -\n"
                                                                         "site - 7360 -\n"
                                                                         "site - 200 -\n"
                                                                         "site - 10 -\n"
                                                                         "site - 30 -\n");
    CHECK_STR(told(report, "collective-site", "site calls time_s skew_s verdict"),
              "MPI_Barrier 6 2131 1501 skew\n"
              "MPI_Scan 3 240 200 skew\n");
    json_decref(report);
}

/*
 * Epochs of which a side was not recorded. 0 completes an access that it never started, so that it
 * waits in the completing call; an end without a beginning waits for nobody.
 */
static const char *const partial[] = {
    NODE_OF_TWO
    "region MPI_Win_post 29 4\nregion MPI_Win_start 29 4\nregion MPI_Win_complete 29 4\n"
    "region MPI_Win_wait 29 4\nregion MPI_Put 29 4\nregion MPI_Win_test 29 4\n"
    "region shmem_notify 29 2\ncomm 0 1\nwindow 0\nwindow 0\n",
    CALL(0, 1000, 1300, 2, EVENT(0, 1250, "rmasync 0 1 2")),
    CALL(0, 2000, 2100, 2, EVENT(0, 2050, "rmasync 0 1 2")), /* nor was this one started */
    CALL(0, 3000, 3010, 1, ""),
    CALL(0, 3100, 3500, 2, EVENT(0, 3450, "rmasync 1 1 2")), /* of another window */
    CALL(0, 5000, 5010, 6, EVENT(0, 5005, "rmasync 0 1 2")), /* no epoch at all */
    CALL(1, 1200, 1210, 0, EVENT(1, 1205, "rmasync 0 0 0")),
    CALL(1, 1400, 1410, 3, EVENT(1, 1405, "rmasync 0 0 1")),
    CALL(1, 1700, 1710, 0, EVENT(1, 1705, "rmasync 0 0 0")),
    CALL(1, 1900, 2150, 5, EVENT(1, 2140, "rmasync 0 0 1")),
    CALL(1, 3300, 3310, 0, EVENT(1, 3305, "rmasync 1 0 0")),
    CALL(1, 3400, 3600, 3, EVENT(1, 3590, "rmasync 1 0 1")),
    CALL(1, 4800, 5100, 6, EVENT(1, 5090, "rmasync 0 0 1")),
    NULL};

static void partial_epochs_are_told(void)
{
    json_t *report = program_waits(partial);
    CHECK_STR(told(report, "wait-pair", "state waiter causer n wait_s"), "late-post 0 1 2 400\n"
                                                                         "rma-sync 1 0 1 200\n"
                                                                         "early-wait 1 0 1 100\n");
    CHECK_STR(told(report, "wait-instance", "state call from_s wait_s cause_s causer_call"),
              "late-post MPI_Win_complete 0 200 200 MPI_Win_post\n"
              "late-post MPI_Win_complete 2100 200 2300 MPI_Win_post\n"
              "rma-sync shmem_notify 3800 200 4000 shmem_notify\n"
              "early-wait MPI_Win_test 900 100 1000 MPI_Win_complete\n");
    json_decref(report);
}

/* Calls are known by their paradigm, their role, or their name; a lock only of OpenMP. */
static void calls_are_known(const char *region, int role, int paradigm, bool known)
{
    char text[TEXT] = NODE_OF_TWO;
    const char *const lines[] = {text, NULL};
    text_add(text, "region MPI_Send 28 4\nregion %s %d %d\ncomm 0 1\n", region, role, paradigm);
    text_add(text, "%s",
             CALL(0, 1500, 1600, 0, EVENT(0, 1510, "send 1 0 7 8"))
                 CALL(1, 1000, 1700, 1, EVENT(1, 1690, "recv 0 0 7 8")));
    json_t *report = program_waits(lines);
    CHECK_STR(told(report, "wait-pair", "state waiter causer n wait_s"),
              known ? "late-sender 1 0 1 500\n" : "");
    CHECK_STR(told(report, "waits", "n wait_s"), known ? "1 500\n" : "0 0\n");
    const json_t *left = json_object_get(json_array_get(report, 0), "left_out");
    CHECK(json_integer_value(json_object_get(left, "without_region")) == (known ? 0 : 1));
    json_decref(report);
}

static void names_matter(void)
{
    for (int role = 22; role <= 30; role++) { /* of collectives, messages and windows */
        calls_are_known("any", role, 1, (role >= 23 && role <= 26) || role == 28 || role == 29);
    }
    calls_are_known("any", 15, 1, true);
    calls_are_known("any", 16, 1, true);
    calls_are_known("any", 14, 1, false);
    calls_are_known("any", 17, 1, false);
    calls_are_known("any", 1, 4, true);
    calls_are_known("any", 1, 7, true);
    calls_are_known("any", 1, 3, false);
    calls_are_known("any", 15, 3, true);
    calls_are_known("MPI_any", 1, 1, true);
    calls_are_known("PMPI_any", 1, 1, true);
    calls_are_known("XMPI_any", 1, 1, false);
    calls_are_known("MPIany", 1, 1, false);
}

/*
 * Two communicators, in one of which the ranks are the other way round; one tick between calls; a
 * send of the profiling interface before the last barrier; and instances that cannot be used.
 */
static const char *const meetings[] = {
    NODE_OF_TWO "region MPI_Barrier 26 4\nregion PMPI_Send 28 4\nregion MPI_Allreduce 25 4\n"
                "region MPI_Recv 28 4\ncomm 0 1\ncomm 1 0\n",
    MEET_ALL(0, 1000, 1600, 0, 0, 0, 0),
    MEET_ALL(0, 1601, 1700, 0, 0, 0, 0), /* a tick later */
    MEET_IN(0, 2000, 2500, 0, 1),
    CALL(0, 2900, 2990, 1, EVENT(0, 2910, "send 1 0 7 8")),
    MEET_ALL(0, 3000, 3100, 0, 0, 0, 0),
    MEET_ALL(0, 4000, 4100, 2, 11, 8, 8), /* 1 calls another one */
    MEET_ALL(0, 5000, 5200, 0, 0, 0, 0),  /* 1 does not record all of it */
    MEET_ALL(1, 1400, 1602, 0, 0, 0, 0),
    MEET_ALL(1, 1610, 1705, 0, 0, 0, 0),
    MEET_IN(1, 2400, 2510, 0, 1),
    MEET_ALL(1, 3005, 3101, 0, 0, 0, 0),
    CALL(1, 3110, 3120, 3, EVENT(1, 3115, "recv 0 0 7 8")),
    MEET_ALL(1, 4010, 4100, 0, 0, 0, 0),
    CALL(1, 5100, 5210, 0,
         EVENT(1, 5100, "begin") EVENT(1, 5150, "onoff 2") EVENT(1, 5160, "onoff 1")
             EVENT(1, 5205, "end 0 0 4294967295 0 0")),
    NULL};

static void meetings_are_told(void)
{
    struct ictus_arrivals_list list = {.at = NULL};
    struct ictus_arrivals_left left;
    struct ictus_why why = {""};
    program_write(meetings);
    REQUIRE(!ictus_arrivals_extract(archive, 0, &list, &left, &why));
    CHECK(left.incomplete == 1 && left.muted == 1 && left.inter == 0);
    CHECK_STR(arrivals_told(&list), "MPI_Barrier MPI_Barrier barrier 0 2 -1 3\n"
                                    "0 0 0\n"
                                    "400 0 0\n"
                                    "0 1 1\n"
                                    "9 8 8\n"
                                    "0 500 10\n"
                                    "5 495 495\n"
                                    "1 202\n"
                                    "1 95\n"
                                    "1 96\n"
                                    "MPI_Barrier#2 MPI_Barrier barrier 0 2 -1 1\n"
                                    "400 695 695\n"
                                    "0 300 300\n"
                                    "1 110\n");
    ictus_arrivals_list_free(&list);
}

/*
 * Clocks of two nodes, each known to 10 ns, so that they differ by 14. A lock may have been given
 * back up to four times that after its waiter is shown to have it, and no later: 56 ns.
 */
static void lock_is_doubted(int left, bool waits)
{
    char text[TEXT] = "node a\nnode b\nprocess 0\nprocess 1\nlocation 0\nlocation 1\n"
                      "region MPI_Send 28 4\nregion MPI_Recv 28 4\nregion MPI_Win_lock 29 4\n"
                      "region MPI_Win_unlock 29 4\ncomm 0 1\nwindow 0\n"
                      "offset 0 0 0 10\noffset 1 0 0 10\n";
    const char *const lines[] = {text, NULL};
    text_add(text, "%s%s",
             CALL(0, 1000, 1010, 0, EVENT(0, 1005, "send 1 0 7 8"))
                 CALL(0, 1500, 1510, 0, EVENT(0, 1505, "send 1 0 7 8"))
                     CALL(0, 7000, 7010, 2, EVENT(0, 7005, "rmaacquire 0 1 0 0"))
                         CALL(0, 7595, 7600, 3, EVENT(0, 7598, "rmarelease 0 1 0")),
             CALL(1, 500, 1100, 1, EVENT(1, 1090, "recv 0 0 7 8"))
                 CALL(1, 1495, 1600, 1, EVENT(1, 1590, "recv 0 0 7 8")));
    text_add(text, "1 7100 enter 2\n1 %d rmaacquire 0 1 0 0\n1 %d leave 2\n", left - 5, left);
    text_add(text, "%s", CALL(1, 8000, 8010, 3, EVENT(1, 8005, "rmarelease 0 1 0")));
    json_t *report = program_waits(lines);
    CHECK_STR(told(report, "waits", "sigma_source clock_sigma_ns nodes"), "archive 10.0000 2\n");
    CHECK_STR(told(report, "wait-instance", "state wait_s sigma_s"),
              waits ? "late-sender 500 14\nrma-lock 444 14\nlate-sender 5 14\n"
                    : "late-sender 500 14\nlate-sender 5 14\n");
    /* 500 of 505 ns are known to be waiting, whatever the clocks show */
    CHECK_STR(told(report, "wait-rank", "state n wait_raw_s decidable kind"),
              waits ? "late-sender 2 505 0.9901 certain\nrma-lock 1 444 1.0000 certain\n"
                    : "late-sender 2 505 0.9901 certain\n");
    if (waits) { /* most of it in each history, too */
        CHECK_STR(told(report, "wait-cause", "rank call draws first_draws"),
                  "0 (program) 80 80\n0 MPI_Send 80 0\n0 MPI_Win_lock 80 0\n"
                  "0 MPI_Win_unlock 80 0\n");
    }
    size_t i = 0;
    const json_t *object = NULL;
    json_array_foreach(report, i, object)
    {
        const double low = json_number_value(json_object_get(object, "share_low"));
        const double high = json_number_value(json_object_get(object, "share_high"));
        const double wait_low = json_number_value(json_object_get(object, "wait_low_s"));
        const double wait_high = json_number_value(json_object_get(object, "wait_high_s"));
        CHECK(low >= 0 && low <= high && high <= 1 && wait_low >= 0 && wait_low <= wait_high);
    }
    json_decref(report);
}

int main(void)
{
    programs_begin();
    three_are_told_apart();
    partial_epochs_are_told();
    names_matter();
    meetings_are_told();
    lock_is_doubted(7544, true);
    lock_is_doubted(7543, false);
    return programs_end();
}
