/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What spawned processes are told so that they are traced, too: the library to preload and the
 * settings, besides what the program itself tells them, and nothing where that does not fit.
 */
#include "../check.h"

#include "tracer/real.h"
#include "tracer/spawn.h"
#include "tracer/tracer.h"

#include <stdbool.h>
#include <unistd.h>

enum { ROOT = 3, INFOS = 8 };

struct tracer ictusi_tracer;

/* Infos that were made, as handles that nobody looks into. */
static struct {
    char env[MPI_MAX_INFO_VAL + 1];
    bool is_set, is_open;
} infos[INFOS];
static int made, rank = ROOT, creates_fail;

static MPI_Info info_handle(int number)
{
    return (MPI_Info)(uintptr_t)(16 * (number + 1));
}

static int info_number(MPI_Info info)
{
    const int number = (int)((uintptr_t)info / 16) - 1;
    REQUIRE(number >= 0 && number < made && infos[number].is_open);
    return number;
}

static int model_rank(MPI_Comm comm, int *result)
{
    CHECK(comm == MPI_COMM_SELF);
    *result = rank;
    return MPI_SUCCESS;
}

static int model_info_create(MPI_Info *info)
{
    REQUIRE(made < INFOS);
    if (creates_fail) {
        return MPI_ERR_NO_MEM;
    }
    infos[made].env[0] = '\0';
    infos[made].is_set = false;
    infos[made].is_open = true;
    *info = info_handle(made++);
    return MPI_SUCCESS;
}

static int model_info_dup(MPI_Info info, MPI_Info *copy)
{
    const int from = info_number(info), err = model_info_create(copy);
    if (!err) {
        infos[made - 1] = infos[from];
    }
    return err;
}

static int model_info_get(MPI_Info info, const char *key, int length, char *value, int *found)
{
    CHECK_STR(key, "env");
    *found = infos[info_number(info)].is_set;
    if (*found) {
        (void)snprintf(value, (size_t)length + 1, "%s", infos[info_number(info)].env);
    }
    return MPI_SUCCESS;
}

static int model_info_set(MPI_Info info, const char *key, const char *value)
{
    CHECK_STR(key, "env");
    CHECK(strlen(value) < MPI_MAX_INFO_VAL);
    (void)snprintf(infos[info_number(info)].env, sizeof infos[0].env, "%s", value);
    infos[info_number(info)].is_set = true;
    return MPI_SUCCESS;
}

static int model_info_free(MPI_Info *info)
{
    infos[info_number(*info)].is_open = false;
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

struct real_mpi ictusi_real = {.P_Comm_rank = model_rank,
                               .P_Info_create = model_info_create,
                               .P_Info_dup = model_info_dup,
                               .P_Info_get = model_info_get,
                               .P_Info_set = model_info_set,
                               .P_Info_free = model_info_free};

/* A traced root, and what its program says of its children: NULL for nothing. */
static MPI_Info program_begins(const char *env)
{
    MPI_Info info = MPI_INFO_NULL;
    made = creates_fail = 0;
    rank = ROOT;
    atomic_store(&ictusi_tracer.state, TRACER_RUNNING);
    atomic_store(&ictusi_tracer.spawns_told, false);
    CHECK(setenv("LD_PRELOAD", "/lib/x.so", 1) == 0);
    CHECK(setenv("ICTUS_TRACE_OUTPUT", "/there", 1) == 0);
    CHECK(setenv("ICTUS_TRACE_KEEP", "1", 1) == 0 && setenv("ICTUS_TRACE_FORCE", "0", 1) == 0);
    if (env) {
        CHECK(model_info_create(&info) == MPI_SUCCESS);
        CHECK(model_info_set(info, "env", env) == MPI_SUCCESS);
    }
    return info;
}

static int open_infos(void)
{
    int count = 0;
    for (int i = 0; i < made; i++) {
        count += infos[i].is_open;
    }
    return count;
}

#ifdef OPEN_MPI
#define LINES "LD_PRELOAD=/lib/x.so\nICTUS_TRACE_OUTPUT=/there\nICTUS_TRACE_KEEP=1"

/* The root's children get what differs from the defaults, after what the program gives them. */
static void children_are_told(void)
{
    MPI_Info info = program_begins(NULL);
    MPI_Info given = ictusi_spawn_info(ROOT, MPI_COMM_SELF, info);
    CHECK_STR(infos[info_number(given)].env, LINES);
    ictusi_spawn_info_free(given, info);
    CHECK(open_infos() == 0);
    info = program_begins("A=1");
    given = ictusi_spawn_info(ROOT, MPI_COMM_SELF, info);
    CHECK_STR(infos[info_number(given)].env, "A=1\n" LINES);
    CHECK_STR(infos[info_number(info)].env, "A=1"); /* the program's own stays what it is */
    ictusi_spawn_info_free(given, info);
    CHECK(open_infos() == 1);
    info = program_begins("LD_PRELOAD=/lib/own.so");
    given = ictusi_spawn_info(ROOT, MPI_COMM_SELF, info); /* which knows best */
    CHECK_STR(infos[info_number(given)].env, "LD_PRELOAD=/lib/own.so");
    ictusi_spawn_info_free(given, info);
    CHECK(open_infos() == 1);
}

/* Several programs that are spawned at once are told alike, each besides its own. */
static void each_program_is_told(void)
{
    const MPI_Info first = program_begins("A=1");
    const MPI_Info list[] = {first, MPI_INFO_NULL};
    const MPI_Info *given = ictusi_spawn_infos(ROOT, MPI_COMM_SELF, 2, list);
    REQUIRE(given != list);
    CHECK_STR(infos[info_number(given[0])].env, "A=1\n" LINES);
    CHECK_STR(infos[info_number(given[1])].env, LINES);
    CHECK(open_infos() == 3);
    ictusi_spawn_infos_free(given, 2, list);
    CHECK(open_infos() == 1 && infos[info_number(first)].is_open);
    CHECK(ictusi_spawn_infos(ROOT, MPI_COMM_SELF, 0, list) == list);
    ictusi_spawn_infos_free(list, 2, list);
    CHECK(open_infos() == 1);
}

/* Only the root's info is read, and only a traced program's children are traced. */
static void others_are_left_alone(void)
{
    const MPI_Info info = program_begins("A=1");
    const MPI_Info list[] = {info};
    rank = ROOT + 1;
    CHECK(ictusi_spawn_info(ROOT, MPI_COMM_SELF, info) == info);
    CHECK(ictusi_spawn_infos(ROOT, MPI_COMM_SELF, 1, list) == list);
    rank = ROOT;
    atomic_store(&ictusi_tracer.state, TRACER_DONE);
    CHECK(ictusi_spawn_info(ROOT, MPI_COMM_SELF, info) == info);
    CHECK(ictusi_spawn_infos(ROOT, MPI_COMM_SELF, 1, list) == list);
    atomic_store(&ictusi_tracer.state, TRACER_RUNNING);
    creates_fail = 1;
    CHECK(ictusi_spawn_info(ROOT, MPI_COMM_SELF, info) == info);
    creates_fail = 0;
    CHECK(unsetenv("LD_PRELOAD") == 0); /* the program is linked with the tracer */
    const MPI_Info given = ictusi_spawn_info(ROOT, MPI_COMM_SELF, info);
    CHECK_STR(infos[info_number(given)].env, "A=1");
    ictusi_spawn_info_free(given, info);
    CHECK(made == 2 && open_infos() == 1);
}

/* Texts that just fit are passed on whole; of longer ones nothing is, and the user is told once. */
static void long_paths_are_told(void)
{
    char path[MPI_MAX_INFO_VAL + 20], text[600];
    const size_t rest = strlen(LINES) - strlen("/there");
    for (size_t length = MPI_MAX_INFO_VAL - rest - 3; length <= MPI_MAX_INFO_VAL + 10; length++) {
        const MPI_Info info = program_begins(NULL);
        memset(path, 'p', length);
        path[length] = '\0';
        CHECK(setenv("ICTUS_TRACE_OUTPUT", path, 1) == 0);
        FILE *file = tmpfile();
        const int kept = dup(STDERR_FILENO);
        REQUIRE(file && kept >= 0 && dup2(fileno(file), STDERR_FILENO) == STDERR_FILENO);
        const MPI_Info given = ictusi_spawn_info(ROOT, MPI_COMM_SELF, info);
        const MPI_Info again = ictusi_spawn_info(ROOT, MPI_COMM_SELF, info);
        REQUIRE(dup2(kept, STDERR_FILENO) == STDERR_FILENO && close(kept) == 0);
        rewind(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        CHECK(fclose(file) == 0);
        if (rest + length < MPI_MAX_INFO_VAL) {
            CHECK(strlen(infos[info_number(given)].env) == rest + length && !text[0]);
        } else {
            CHECK(given == info && again == info);
            const char *told = strstr(text, "ictus trace: spawned processes are not traced");
            CHECK(told && !strstr(told + 1, "ictus trace"));
        }
    }
    program_begins(NULL);
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    CHECK(setenv("LD_PRELOAD", path, 1) == 0);
    FILE *const real = stderr, *nowhere = fopen("/dev/null", "w");
    REQUIRE(nowhere);
    stderr = nowhere;
    CHECK(ictusi_spawn_info(ROOT, MPI_COMM_SELF, MPI_INFO_NULL) == MPI_INFO_NULL);
    stderr = real;
    (void)fclose(nowhere);
    CHECK(made == 0);
}
#else
static void children_are_told(void)
{
    const MPI_Info info = program_begins("A=1"), list[] = {info};
    CHECK(ictusi_spawn_info(ROOT, MPI_COMM_SELF, info) == info);
    CHECK(ictusi_spawn_infos(ROOT, MPI_COMM_SELF, 1, list) == list && open_infos() == 1);
}
#endif

int main(void)
{
    children_are_told();
#ifdef OPEN_MPI
    each_program_is_told();
    others_are_left_alone();
    long_paths_are_told();
#endif
    return check_result();
}
