/* SPDX-License-Identifier: BSD-3-Clause */
/* The header of a result file: what it tells of the job, the options and the environment. */
#include "main/header.h"

#include "../check.h"
#include "captured.h"
#include "main/command.h"

#include <jansson.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

/* The job, as a test wants it: the hosts of its ranks. */
enum { RANKS = 4 };
static const char *const hosts[RANKS] = {"one", "two", "one", "three"};
static bool mpi_is_up;
static int rank;

bool command_mpi_is_up(void)
{
    return mpi_is_up;
}

int command_rank(void)
{
    return rank;
}

int command_size(void)
{
    return mpi_is_up ? RANKS : 1;
}

int __wrap_MPI_Get_processor_name(char *name, int *length);
int __wrap_MPI_Get_library_version(char *version, int *length);
int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int __wrap_MPI_Gather(const void *from, int from_count, MPI_Datatype from_type, void *to,
                      int to_count, MPI_Datatype to_type, int root, MPI_Comm comm);

int __wrap_MPI_Get_processor_name(char *name, int *length)
{
    *length = snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", hosts[rank]);
    return MPI_SUCCESS;
}

int __wrap_MPI_Get_library_version(char *version, int *length)
{
    *length =
        snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Some\tMPI 1.2, more\t\nand more\n");
    return MPI_SUCCESS;
}

int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)type;
    (void)comm;
    CHECK(*(const int *)buffer == 1 && count == 1 && root == 0);
    return MPI_SUCCESS;
}

int __wrap_MPI_Gather(const void *from, int from_count, MPI_Datatype from_type, void *to,
                      int to_count, MPI_Datatype to_type, int root, MPI_Comm comm)
{
    (void)from_type;
    (void)to_type;
    (void)comm;
    CHECK_STR((const char *)from, hosts[rank]);
    CHECK(from_count == MPI_MAX_PROCESSOR_NAME && to_count == from_count && root == 0);
    for (int i = 0; rank == root && i < RANKS; i++) {
        (void)snprintf((char *)to + (size_t)i * MPI_MAX_PROCESSOR_NAME, MPI_MAX_PROCESSOR_NAME,
                       "%s", hosts[i]);
    }
    return MPI_SUCCESS;
}

/* One option of each type. */
static const char *const shapes[] = {"round", "square", NULL};
static struct values {
    const char *untold, *text, *none;
    bool flag, quiet;
    int64_t whole;
    uint64_t bytes;
    double real;
    int shape;
} values = {NULL, "words", NULL, true, true, -7, 65536, 0.25, 1};
#define AT(member) offsetof(struct values, member)
static const struct option_row rows[] = {
    {"text", 0, OPTION_TEXT, AT(text), NULL, 0, 0, NULL, "T", ""},
    {"none", 0, OPTION_TEXT, AT(none), NULL, 0, 0, NULL, "T", ""},
    {"flag", 0, OPTION_FLAG, AT(flag), NULL, 0, 0, NULL, NULL, ""},
    {"quiet", 0, OPTION_FLAG, AT(quiet), NULL, 0, 0, NULL, NULL, ""},
    {"progress", 0, OPTION_FLAG, AT(quiet), NULL, 0, 0, NULL, NULL, ""},
    {"verbose", 0, OPTION_FLAG, AT(quiet), NULL, 0, 0, NULL, NULL, ""},
    {"force", 0, OPTION_FLAG, AT(quiet), NULL, 0, 0, NULL, NULL, ""},
    {"whole", 0, OPTION_INT, AT(whole), NULL, 0, 0, NULL, "N", ""},
    {"bytes", 0, OPTION_BYTES, AT(bytes), NULL, 0, 0, NULL, "N", ""},
    {"real", 0, OPTION_SECONDS, AT(real), NULL, 0, 0, NULL, "N", ""},
    {"shape", 0, OPTION_CHOICE, AT(shape), NULL, 0, 0, shapes, "N", ""},
    {NULL, 0, OPTION_FLAG, 0, NULL, 0, 0, NULL, NULL, NULL}};

static const struct header_facts plain = {.command = "bench", .rows = rows, .options = &values};
static const struct header_facts full = {.command = "bench",
                                         .rows = rows,
                                         .options = &values,
                                         .clock = "tsc",
                                         .sync = "mesh",
                                         .selection = "strictly",
                                         .clock_known = true,
                                         .clock_sigma_ns = 12.5,
                                         .clock_bound_ns = 99.0,
                                         .seeded = true,
                                         .seed = 77};

/* Whether a member reads so as JSON; NULL: there is none. */
static void member_is(const json_t *header, const char *key, const char *wanted)
{
    const json_t *member = json_object_get(header, key);
    char *text =
        member ? json_dumps(member, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (!text != !wanted || (text && strcmp(text, wanted) != 0)) {
        check_failures++;
        (void)fprintf(stderr, "%s is %s, not %s\n", key, text ? text : "left out", wanted);
    }
    free(text);
}

static void job_is_told(void)
{
    mpi_is_up = true;
    json_t *header = header_create(&full);
    REQUIRE(header);
    member_is(header, "hosts", "[\"one\",\"two\",\"three\"]");
    member_is(header, "nodes", "3");
    member_is(header, "processes", "4");
    member_is(header, "command", "\"bench\"");
    member_is(header, "mpi", "\"Some MPI 1.2, more \"");
    member_is(header, "version", "\"1.2.3\"");
    member_is(header, "clock", "\"tsc\"");
    member_is(header, "sync", "\"mesh\"");
    member_is(header, "selection", "\"strictly\"");
    member_is(header, "clock_sigma_ns", "12.5");
    member_is(header, "clock_bound_ns", "99.0");
    member_is(header, "seed", "77");
    member_is(header, "simulated", "false");
    json_decref(header);
    for (rank = 1; rank < RANKS; rank++) {
        CHECK(!header_create(&full));
    }
    rank = 0;
    mpi_is_up = false;
    header = header_create(&plain);
    REQUIRE(header);
    char host[256] = "", list[300];
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(list, sizeof list, "[\"%s\"]", host);
    member_is(header, "hosts", list);
    static const char *const left_out[] = {"clock",          "sync",           "selection",
                                           "clock_sigma_ns", "clock_bound_ns", "seed"};
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        member_is(header, left_out[i], NULL);
    }
    json_decref(header);
}

static int count_of(const json_t *topology, const char *key)
{
    return (int)json_integer_value(json_object_get(topology, key));
}

/* A machine has packages of cores of processing units. */
static void machine_is_told(void)
{
    json_t *header = header_create(&plain);
    const json_t *topology = json_object_get(header, "topology");
    REQUIRE(topology);
    CHECK(count_of(topology, "packages") >= 1);
    CHECK(count_of(topology, "cores") >= count_of(topology, "packages"));
    CHECK(count_of(topology, "pus") >= count_of(topology, "cores"));
    CHECK(count_of(topology, "numa") >= 1 && count_of(topology, "l3") >= 0);
    CHECK(count_of(header, "cores") == count_of(topology, "cores"));
    CHECK(json_is_string(json_object_get(header, "kernel")));
    const char *started = json_string_value(json_object_get(header, "started"));
    CHECK(started && strlen(started) == strlen("2026-11-18T11:06:40Z"));
    CHECK(started && started[10] == 'T' && started[19] == 'Z');
    json_decref(header);
}

static void options_are_told(void)
{
    json_t *header = header_create(&plain);
    member_is(header, "parameters",
              "{\"bytes\":65536,\"flag\":true,\"none\":null,\"real\":0.25,\"shape\":\"square\","
              "\"text\":\"words\",\"whole\":-7}");
    /* What stood behind the command's name, as it was typed. */
    member_is(header, "arguments", "[\"--ops=bcast\",\"bench\",\"more words\"]");
    json_decref(header);
}

/* What steers the measurement or the MPI library, and not what describes this launch. */
static void environment_is_told(void)
{
    char longest[256], too_long[257];
    (void)memset(longest, 'x', sizeof longest - 1);
    (void)memset(too_long, 'x', sizeof too_long - 1);
    longest[sizeof longest - 1] = too_long[sizeof too_long - 1] = '\0';
    (void)memcpy(longest, "ICTUS_", 6);
    (void)memcpy(too_long, "ICTUS_", 6);
    static const char *const told[] = {"ICTUS_CLOCK", "OMPI_MCA_btl", "PRTE_MCA_x",
                                       "PMIX_MCA_x",  "MPICH_X",      "MPIR_CVAR_X",
                                       "FI_PROVIDER", "UCX_TLS",      "SLURM_JOBID"};
    static const char *const untold[] = {
        "OMPI_MCA_orte_x",  "OMPI_MCA_ess_x", "OMPI_MCA_pmix_x",
        "OMPI_MCA_shmem_x", "SLURM_JWT",      "OMPI_MCA_initial_wdir",
        "LD_PRELOADED",     "HOME_OF_ICTUS_", "PATH"};
    enum { TOLD = sizeof told / sizeof *told };
    REQUIRE(clearenv() == 0);
    for (size_t i = 0; i < TOLD; i++) {
        REQUIRE(setenv(told[i], "a=b", 1) == 0);
    }
    for (size_t i = 0; i < sizeof untold / sizeof *untold; i++) {
        REQUIRE(setenv(untold[i], "c", 1) == 0);
    }
    REQUIRE(setenv(longest, "d", 1) == 0 && setenv(too_long, "e", 1) == 0);
    json_t *header = header_create(&plain);
    const json_t *environment = json_object_get(header, "environment");
    CHECK(json_object_size(environment) == TOLD + 1);
    for (size_t i = 0; i < TOLD; i++) {
        member_is(environment, told[i], "\"a=b\"");
    }
    member_is(environment, longest, "\"d\"");
    json_decref(header);
}

static void prints(const char *header, const char *wanted)
{
    static struct captured out;
    json_t *object = json_loads(header, 0, NULL);
    REQUIRE(object);
    capture_begin(&out);
    header_print(object);
    capture_end(&out);
    CHECK_STR(out.text, wanted);
    json_decref(object);
}

static void headers_are_printed(void)
{
    prints("{\"version\": \"1\", \"command\": \"sync\", \"mpi\": \"Open MPI 4, of a package\", "
           "\"processes\": 2, \"nodes\": 1, \"simulated\": false, \"cpu\": \"A CPU\", "
           "\"cores\": 8, \"kernel\": \"6.1\", \"clock\": \"tsc\", \"sync\": \"mesh\", "
           "\"selection\": \"strict\", \"seed\": 5}",
           "# ictus 1 sync, MPI: Open MPI 4, 2 processes on 1 host\n"
           "# A CPU, 8 cores, Linux 6.1\n"
           "# clock tsc, sync mesh\n"
           "# algorithms: strict\n"
           "# seed 5\n");
    prints("{\"version\": \"1\", \"command\": \"sync\", \"mpi\": \"SMPI\", \"processes\": 1, "
           "\"nodes\": 2, \"simulated\": true, \"clock\": \"tsc\"}",
           "# ictus 1 sync, SimGrid, SMPI, 1 process on 2 hosts\n"
           "# clock tsc\n");
    header_print(NULL);
}

int main(int argc, char **argv)
{
    static char *const words[] = {"test",  "--first",    "bench", "--ops=bcast",
                                  "bench", "more words", NULL};
    if (argc < 2) {
        (void)execv("/proc/self/exe", words);
        return 1;
    }
    (void)argv;
    job_is_told();
    machine_is_told();
    options_are_told();
    headers_are_printed();
    environment_is_told();
    return check_result();
}
