/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Harmonised starts: options in info objects, what duplicates inherit, repeats, and stopped
 * processes.
 */
#include <ictus/harmonize.h>

#include <unistd.h>

#include "check_mpi.h"

static void option_is(MPI_Comm comm, const char *key, const char *wanted)
{
    char value[256] = "";
    int found = 0;
    MPI_Info info = MPI_INFO_NULL;
    CHECK(!ictus_harmonize_get_info(comm, &info));
    MPI_Info_get(info, key, (int)sizeof(value) - 1, value, &found);
    CHECK(found);
    CHECK_STR(value, wanted);
    MPI_Info_free(&info);
}

static void options_are_inherited(void)
{
    MPI_Comm comm;
    MPI_Comm copy;
    MPI_Comm half;
    MPI_Info info;
    struct ictus_why why;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    CHECK(ictus_harmonize_get_info(comm, &info) == ICTUS_ERR_SAMPLES);
    MPI_Info_create(&info);
    MPI_Info_set(info, "ictus_late", "0.25");
    MPI_Info_set(info, "ictus_resync", "never");
    MPI_Info_set(info, "another_key", "of somebody else");
    CHECK(!ictus_harmonize_set_info(comm, info, &why));
    option_is(comm, "ictus_late", "0.25");
    option_is(comm, "ictus_resync", "never");
    MPI_Info_set(info, "ictus_late", "often");
    CHECK(ictus_harmonize_set_info(comm, info, &why) == ICTUS_ERR_SPEC);
    option_is(comm, "ictus_late", "0.25"); /* as before */
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_split(comm, check_rank % 2, 0, &half);
    MPI_Comm_free(&comm);
    CHECK(!ictus_harmonize(copy, NULL) && !ictus_harmonize(half, NULL));
    option_is(copy, "ictus_late", "0.25");
    option_is(half, "ictus_late", "0.001");
    CHECK(!ictus_harmonize_set_info(copy, MPI_INFO_NULL, &why));
    option_is(copy, "ictus_late", "0.001");
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    MPI_Info_free(&info);
}

/*
 * The clock's key alone, with an option, and without one; as an argument and as the communicator's
 * own.
 */
static void info_names_the_clock(void)
{
    static const char clock[] = "hca3:fitpoints=20,exchanges=10@sim:scope=process,offset=3s";
    static const char *const rates[] = {NULL, "0.125"};
    for (int i = 0; i < 2; i++) {
        MPI_Comm comm;
        MPI_Comm copy;
        MPI_Info info;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Info_create(&info);
        MPI_Info_set(info, "ictus_clock", clock);
        if (rates[i]) {
            MPI_Info_set(info, "ictus_late", rates[i]);
        }
        CHECK(!ictus_harmonize_set_info(comm, info, NULL));
        MPI_Comm_dup(comm, &copy);
        CHECK(!ictus_harmonize(copy, NULL));
        option_is(comm, "ictus_clock", clock);
        option_is(copy, "ictus_clock", clock);
        option_is(copy, "ictus_late", rates[i] ? rates[i] : "0.001");
        MPI_Comm_free(&copy);
        MPI_Info_delete(info, "ictus_clock");
        CHECK(!ictus_harmonize_set_info(comm, info, NULL));
        MPI_Comm_dup(comm, &copy);
        CHECK(!ictus_harmonize(copy, NULL));
        option_is(copy, "ictus_clock", "hierarchy(mesh,propagate(mesh))@monotonic");
        option_is(copy, "ictus_late", rates[i] ? rates[i] : "0.001");
        MPI_Comm_free(&copy);
        MPI_Comm_free(&comm);
        MPI_Info_free(&info);
    }
}

/* An info of the communicator's own, if the library keeps keys that it does not know. */
static void own_info_is_read(void)
{
    MPI_Comm comm;
    MPI_Info info;
    MPI_Info kept;
    char value[64] = "";
    int found = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "ictus_late", "0.25");
    MPI_Info_set(info, "ictus_clock", "hca3:fitpoints=20,exchanges=10@monotonic");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Comm_get_info(comm, &kept);
    MPI_Info_get(kept, "ictus_late", (int)sizeof(value) - 1, value, &found);
    CHECK(!ictus_harmonize(comm, NULL));
    option_is(comm, "ictus_late", found ? "0.25" : "0.001");
    if (found) {
        option_is(comm, "ictus_clock", "hca3:fitpoints=20,exchanges=10@monotonic");
    }
    MPI_Info_free(&kept);
    MPI_Info_free(&info);
    MPI_Comm_free(&comm);
}

static void different_starts_are_refused(void)
{
    MPI_Comm comm;
    struct ictus_why why = {""};
    const char *spec = check_rank == check_size - 1 ? "harmonize:late=0.5" : "harmonize";
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const int err = ictus_harmonize_configure(comm, spec, NULL, &why);
    CHECK(check_size > 1 ? err == ICTUS_ERR_SPEC : err == ICTUS_OK);
    CHECK(check_size == 1 ||
          (strstr(why.text, "'harmonize:late=0.5'") && strstr(why.text, "'harmonize'")));
    MPI_Comm_free(&comm);
}

static void late_starts_are_repeated(void)
{
    struct ictus_harmony harmony;
    for (int i = 0; i < 20; i++) {
        REQUIRE(!ictus_harmonize_retry(MPI_COMM_WORLD, 3, &harmony));
        CHECK(harmony.attempts >= 1 && harmony.attempts <= 4);
        int64_t first = harmony.deadline.ns;
        MPI_Bcast(&first, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
        CHECK(first == harmony.deadline.ns);
    }
    CHECK(ictus_harmonize_retry(MPI_COMM_WORLD, -1, NULL) == ICTUS_ERR_ARG);
}

/* A process is stopped for half a second somewhere in the calls, which then continue as before. */
static void a_stopped_process_does_no_harm(void)
{
    if (check_rank == check_size - 1) {
        char command[160];
        (void)snprintf(command, sizeof(command),
                       "(sleep 0.1; kill -STOP %d; sleep 0.5; kill -CONT %d) >/dev/null 2>&1 &",
                       (int)getpid(), (int)getpid());
        CHECK(system(command) == 0);
    }
    struct ictus_harmonize_stats before;
    struct ictus_harmonize_stats after;
    CHECK(!ictus_harmonize_stats(MPI_COMM_WORLD, &before));
    double start = MPI_Wtime();
    int go_on = 1;
    while (go_on) { /* for one second on rank 0's clock */
        CHECK(!ictus_harmonize(MPI_COMM_WORLD, NULL));
        go_on = MPI_Wtime() - start < 1.0;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    CHECK(!ictus_harmonize_stats(MPI_COMM_WORLD, &after));
    CHECK(after.calls > before.calls);
    CHECK(after.slack_ns <= 100e6); /* later starts do not wait for the stall */
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    options_are_inherited();
    info_names_the_clock();
    own_info_is_read();
    different_starts_are_refused();
    late_starts_are_repeated();
    a_stopped_process_does_no_harm();
    return check_mpi_finish();
}
