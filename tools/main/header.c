/* SPDX-License-Identifier: BSD-3-Clause */
/* Collecting the header of a result file from the job, the machine and the options. */
#include "main/header.h"

#include "main/command.h"
#include "main/member.h"
#include "main/text_table.h"

#include <hwloc.h>
#include <ictus/result.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { NAME_MAX_BYTES = MPI_MAX_PROCESSOR_NAME, COMMAND_LINE_MAX = 65536 };

static void header_set_text(json_t *header, const char *key, const char *text)
{
    if (text && text[0]) {
        json_object_set_new(header, key, ictus_result_text(text));
    }
}

static json_t *option_value(const struct option_row *row, const void *options)
{
    const void *member = (const char *)options + row->offset;
    switch (row->type) {
    case OPTION_FLAG:
        return json_boolean(*(const bool *)member);
    case OPTION_INT:
    case OPTION_BYTES:
        return json_integer((json_int_t) * (const int64_t *)member);
    case OPTION_CHOICE:
        return json_string(row->choices[*(const int *)member]);
    case OPTION_TEXT: {
        const char *text = *(const char *const *)member;
        return text ? ictus_result_text(text) : json_null();
    }
    default:
        return ictus_result_real(*(const double *)member);
    }
}

/* Options about reporting do not change what is measured, so they are not among the parameters. */
static bool header_is_about_talk(const char *option)
{
    static const char *const names[] = {"quiet", "progress", "verbose", "force", NULL};
    for (int i = 0; names[i]; i++) {
        if (strcmp(option, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static json_t *header_parameters(const struct header_facts *facts)
{
    json_t *object = json_object();
    for (const struct option_row *row = facts->rows; row && row->name; row++) {
        if (!header_is_about_talk(row->name)) {
            json_object_set_new(object, row->name, option_value(row, facts->options));
        }
    }
    return object;
}

/*
 * The words after the command. MPI libraries change argv and the options' parser permutes it; the
 * kernel keeps what was typed.
 */
static json_t *header_arguments(const char *command)
{
    json_t *list = json_array();
    char *line = malloc(COMMAND_LINE_MAX);
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t length = 0;
    if (file && line) {
        length = fread(line, 1, COMMAND_LINE_MAX - 1, file);
        line[length] = '\0';
    }
    bool after = false;
    for (size_t at = 0; line && at < length; at += strlen(line + at) + 1) {
        if (after) {
            json_array_append_new(list, ictus_result_text(line + at));
        }
        after = after || strcmp(line + at, command) == 0;
    }
    if (file) {
        (void)fclose(file);
    }
    free(line);
    return list;
}

/* Variables that steer the measurement or the MPI library, without those that describe this launch.
 */
static bool variable_matters(const char *variable)
{
    static const char *const wanted[] = {"ICTUS_", "OMPI_MCA_",   "PRTE_MCA_", "PMIX_MCA_",
                                         "MPICH_", "MPIR_CVAR_",  "FI_",       "UCX_",
                                         "SLURM_", "LD_PRELOAD=", NULL};
    static const char *const launch[] = {"OMPI_MCA_orte_",
                                         "OMPI_MCA_ess",
                                         "OMPI_MCA_pmix",
                                         "OMPI_MCA_shmem",
                                         "OMPI_MCA_initial_wdir",
                                         "SLURM_JWT",
                                         NULL};
    for (size_t i = 0; launch[i]; i++) {
        if (strncmp(variable, launch[i], strlen(launch[i])) == 0) {
            return false;
        }
    }
    for (size_t i = 0; wanted[i]; i++) {
        if (strncmp(variable, wanted[i], strlen(wanted[i])) == 0) {
            return true;
        }
    }
    return false;
}

static json_t *header_environment(void)
{
    json_t *object = json_object();
    for (char **variable = environ; *variable; variable++) {
        const char *equals = strchr(*variable, '=');
        char name[256];
        if (!equals || !variable_matters(*variable) ||
            (size_t)(equals - *variable) >= sizeof(name)) {
            continue;
        }
        (void)snprintf(name, sizeof(name), "%.*s", (int)(equals - *variable), *variable);
        json_object_set_new(object, name, ictus_result_text(equals + 1));
    }
    return object;
}

static void header_add_time(json_t *header)
{
    const time_t now = time(NULL);
    struct tm utc;
    char text[32];
    if (gmtime_r(&now, &utc) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)) {
        header_set_text(header, "started", text);
    }
}

static void header_add_mpi(json_t *header)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(version, &length);
    /* MPICH pads its first line, Open MPI puts all into it. */
    char *end = version + strcspn(version, "\r\n");
    *end = '\0';
    for (char *c = version; *c; c++) {
        if (*c == '\t') {
            *c = ' ';
        }
    }
    header_set_text(header, "mpi", version);
}

static int topology_count(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    const int n = hwloc_get_nbobjs_by_type(topology, type);
    return n > 0 ? n : 0;
}

#if defined(ICTUS_SIMGRID)
/* The machine that simulates is not the machine that is measured. */
static void header_add_machine(json_t *header)
{
    json_object_set_new(header, "simulated", json_true());
    (void)topology_count;
}
#else
static void header_add_machine(json_t *header)
{
    struct utsname name;
    hwloc_topology_t topology;
    json_object_set_new(header, "simulated", json_false());
    if (uname(&name) == 0) {
        header_set_text(header, "kernel", name.release);
    }
    if (hwloc_topology_init(&topology)) {
        return;
    }
    if (hwloc_topology_load(topology) == 0) {
        const hwloc_obj_t root = hwloc_get_root_obj(topology);
        const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
        const char *cpu = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
        cpu = cpu ? cpu : hwloc_obj_get_info_by_name(root, "CPUModel");
        header_set_text(header, "cpu", cpu);
        json_object_set_new(header, "cores",
                            json_integer(topology_count(topology, HWLOC_OBJ_CORE)));
        json_object_set_new(header, "topology",
                            json_pack("{s:i,s:i,s:i,s:i,s:i}", "packages",
                                      topology_count(topology, HWLOC_OBJ_PACKAGE), "numa",
                                      topology_count(topology, HWLOC_OBJ_NUMANODE), "l3",
                                      topology_count(topology, HWLOC_OBJ_L3CACHE), "cores",
                                      topology_count(topology, HWLOC_OBJ_CORE), "pus",
                                      topology_count(topology, HWLOC_OBJ_PU)));
    }
    hwloc_topology_destroy(topology);
}
#endif

/* Names of the hosts in rank order, each once. A set beside the list keeps large jobs quick. */
static json_t *names_distinct(const char *names, int size)
{
    json_t *hosts = json_array();
    json_t *seen = json_object();
    for (int i = 0; i < size; i++) {
        const char *name = names + (size_t)i * NAME_MAX_BYTES;
        if (!json_object_get(seen, name)) {
            json_object_set_new(seen, name, json_true());
            json_array_append_new(hosts, ictus_result_text(name));
        }
    }
    json_decref(seen);
    return hosts;
}

/* Collective: the array on rank 0, NULL elsewhere. */
static json_t *header_gather_hosts(void)
{
    char mine[NAME_MAX_BYTES] = "";
    int length = 0;
    if (!command_mpi_is_up()) {
        (void)gethostname(mine, sizeof(mine) - 1);
        return names_distinct(mine, 1);
    }
    const int rank = command_rank();
    const int size = command_size();
    MPI_Get_processor_name(mine, &length);
    char *all = rank == 0 ? calloc((size_t)size, NAME_MAX_BYTES) : NULL;
    int enough = rank != 0 || all != NULL;
    MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    json_t *hosts = NULL;
    if (enough) {
        MPI_Gather(mine, NAME_MAX_BYTES, MPI_CHAR, all, NAME_MAX_BYTES, MPI_CHAR, 0,
                   MPI_COMM_WORLD);
        hosts = rank == 0 ? names_distinct(all, size) : NULL;
    }
    free(all);
    return hosts;
}

json_t *header_create(const struct header_facts *facts)
{
    json_t *hosts = header_gather_hosts();
    if (command_rank() != 0) {
        return NULL;
    }
    json_t *header = json_object();
    header_set_text(header, "version", ICTUS_VERSION);
    header_set_text(header, "command", facts->command);
    json_object_set_new(header, "arguments", header_arguments(facts->command));
    json_object_set_new(header, "parameters", header_parameters(facts));
    header_add_time(header);
    header_add_mpi(header);
    json_object_set_new(header, "processes", json_integer(command_size()));
    json_object_set_new(header, "nodes", json_integer((json_int_t)json_array_size(hosts)));
    json_object_set_new(header, "hosts", hosts);
    header_set_text(header, "clock", facts->clock);
    header_set_text(header, "sync", facts->sync);
    header_set_text(header, "selection", facts->selection);
    if (facts->clock_known) {
        json_object_set_new(header, "clock_sigma_ns", ictus_result_real(facts->clock_sigma_ns));
        json_object_set_new(header, "clock_bound_ns", ictus_result_real(facts->clock_bound_ns));
    }
    if (facts->seeded) {
        json_object_set_new(header, "seed", json_integer((json_int_t)facts->seed));
    }
    header_add_machine(header);
    json_object_set_new(header, "environment", header_environment());
    return header;
}

void header_print(const json_t *header)
{
    if (!header) {
        return;
    }
    const json_int_t processes = json_integer_value(json_object_get(header, "processes"));
    const json_int_t nodes = json_integer_value(json_object_get(header, "nodes"));
    const json_t *seed = json_object_get(header, "seed");
    /* Open MPI's version goes on about its package after the first comma. */
    const char *mpi = member_text(header, "mpi");
    remark_print(stdout, "ictus %s %s, %s %.*s, %lld %s on %lld %s", member_text(header, "version"),
                 member_text(header, "command"),
                 json_is_true(json_object_get(header, "simulated")) ? "SimGrid," : "MPI:",
                 (int)strcspn(mpi, ","), mpi, (long long)processes,
                 processes == 1 ? "process" : "processes", (long long)nodes,
                 nodes == 1 ? "host" : "hosts");
    if (member_text(header, "cpu")[0]) {
        remark_print(stdout, "%s, %lld cores, Linux %s", member_text(header, "cpu"),
                     (long long)json_integer_value(json_object_get(header, "cores")),
                     member_text(header, "kernel"));
    }
    if (member_text(header, "clock")[0]) {
        remark_print(stdout, "clock %s%s%s", member_text(header, "clock"),
                     member_text(header, "sync")[0] ? ", sync " : "", member_text(header, "sync"));
    }
    if (member_text(header, "selection")[0]) {
        remark_print(stdout, "algorithms: %s", member_text(header, "selection"));
    }
    if (seed) {
        remark_print(stdout, "seed %lld", (long long)json_integer_value(seed));
    }
}
