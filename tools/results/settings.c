/* SPDX-License-Identifier: BSD-3-Clause */
#include "results/settings.h"

#include "main/member.h"

#include <ictus/result.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DIFFERENCES_TOLD = 3, VALUE_WIDTH = 60, PATH_WIDTH = 256 };

/* What describes the launch alone (SLURM_..., PMIX_...) is not among them. */
static bool setting_steers_mpi(const char *variable)
{
    static const char *const steering[] = {"OMPI_MCA_", "MPIR_CVAR_", "MPICH_",
                                           "UCX_",      "FI_",        "LD_PRELOAD"};
    for (size_t i = 0; i < sizeof steering / sizeof *steering; i++) {
        if (strncmp(variable, steering[i], strlen(steering[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* One launch: which it is, for people, and its settings by name. */
static json_t *settings_of_launch(const char *path, const json_t *header)
{
    const double launch = member_number(header, "launch");
    char where[PATH_WIDTH];
    json_t *values = json_object();
    if (isfinite(launch)) {
        (void)snprintf(where, sizeof where, "launch %.0f of %s", launch, path);
    } else {
        (void)snprintf(where, sizeof where, "%s", path);
    }
    const char *variable = NULL;
    json_t *value = NULL;
    (void)json_object_set(values, "the MPI library", json_object_get(header, "mpi"));
    (void)json_object_set(values, "the processor", json_object_get(header, "cpu"));
    json_object_foreach(json_object_get(header, "environment"), variable, value)
    {
        if (setting_steers_mpi(variable)) {
            (void)json_object_set(values, variable, value);
        }
    }
    return json_pack("{s:o, s:o, s:O?, s:O?}", "where", ictus_result_text(where), "values", values,
                     "processes", json_object_get(header, "processes"), "nodes",
                     json_object_get(header, "nodes"));
}

void settings_add(json_t *settings, const char *path, const json_t *objects)
{
    size_t i = 0;
    json_t *object = NULL;
    json_array_foreach((json_t *)objects, i, object)
    {
        if (strcmp(member_text(object, "type"), "header") == 0 &&
            json_object_get(object, "environment") &&
            !json_is_true(json_object_get(object, "simulated"))) {
            (void)json_array_append_new(settings, settings_of_launch(path, object));
        }
    }
}

static void setting_describe(const json_t *launch, const char *name, char *text, size_t size)
{
    const char *where = member_text(launch, "where");
    const json_t *value = json_object_get(json_object_get(launch, "values"), name);
    if (value) {
        (void)snprintf(text, size, "'%.*s' in %s", VALUE_WIDTH, json_string_value(value), where);
    } else {
        (void)snprintf(text, size, "unset in %s", where);
    }
}

/* The first launch whose value is not that of the first launch of all; NULL if there is none. */
static const json_t *setting_other(const json_t *settings, const char *name)
{
    const json_t *first = json_object_get(json_array_get(settings, 0), "values");
    size_t i = 0;
    json_t *launch = NULL;
    json_array_foreach((json_t *)settings, i, launch)
    {
        json_t *value = json_object_get(json_object_get(launch, "values"), name);
        json_t *wanted = json_object_get(first, name);
        if (value != wanted && !(value && wanted && json_equal(value, wanted))) {
            return launch;
        }
    }
    return NULL;
}

/* The first launch of as many processes as an earlier one, but on another number of nodes. */
static void settings_tell_nodes(const char *command, const json_t *settings)
{
    json_t *seen = json_object();
    size_t i = 0;
    json_t *launch = NULL;
    json_array_foreach((json_t *)settings, i, launch)
    {
        char processes[32];
        (void)snprintf(processes, sizeof processes, "%.0f", member_number(launch, "processes"));
        const json_t *earlier = json_object_get(seen, processes);
        const double nodes = member_number(launch, "nodes");
        if (!earlier) {
            (void)json_object_set(seen, processes, launch);
        } else if (member_number(earlier, "nodes") != nodes) {
            (void)fprintf(stderr,
                          "ictus %s: the launches differ: %s processes were on %.0f node%s in "
                          "%s, and on %.0f in %s\n",
                          command, processes, member_number(earlier, "nodes"),
                          member_number(earlier, "nodes") == 1 ? "" : "s",
                          member_text(earlier, "where"), nodes, member_text(launch, "where"));
            break;
        }
    }
    json_decref(seen);
}

void settings_tell(const char *command, const json_t *settings)
{
    json_t *names = json_object();
    size_t i = 0;
    json_t *launch = NULL;
    const char *name = NULL;
    json_t *unused = NULL;
    int count = 0;
    json_array_foreach((json_t *)settings, i, launch)
    {
        (void)json_object_update(names, json_object_get(launch, "values"));
    }
    json_object_foreach(names, name, unused)
    {
        const json_t *other = setting_other(settings, name);
        if (other && count++ < DIFFERENCES_TOLD) {
            char before[400];
            char after[400];
            setting_describe(json_array_get(settings, 0), name, before, sizeof before);
            setting_describe(other, name, after, sizeof after);
            (void)fprintf(stderr, "ictus %s: the launches differ: %s was %s, and %s\n", command,
                          name, before, after);
        }
    }
    if (count > DIFFERENCES_TOLD) {
        (void)fprintf(stderr, "ictus %s: the launches differ in %d more variables\n", command,
                      count - DIFFERENCES_TOLD);
    }
    settings_tell_nodes(command, settings);
    json_decref(names);
}
