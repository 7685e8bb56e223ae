/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing an OTF2 archive. */
#include "archive/trace_open.h"
#include "archive/metric_names.h"

#include "archive/definitions.h"

#include <dirent.h>
#include <errno.h>
#include <ictus/text.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool trace_open_is_full(OTF2_ErrorCode code)
{
    return code == OTF2_ERROR_ENOSPC || code == OTF2_ERROR_EDQUOT || code == OTF2_ERROR_EFBIG;
}

/*
 * OTF2 prints its error messages to standard error. Keep the first one for the user instead. There
 * is one callback for the whole process. Errors in other threads are reported by whoever waits for
 * those threads.
 */
static OTF2_ErrorCode trace_open_on_error(void *data, const char *file, uint64_t line,
                                          const char *function, OTF2_ErrorCode code,
                                          const char *format, va_list args)
{
    struct trace *trace = data;
    (void)file;
    (void)line;
    (void)function;
    if (trace && pthread_equal(trace->thread, pthread_self()) && trace->why && !trace->said &&
        code != OTF2_SUCCESS) {
        char detail[200] = "";
        if (format && *format) {
            (void)vsnprintf(detail, sizeof detail, format, args);
        }
        const bool written = trace->output && trace_open_is_full(code);
        trace->said = true;
        (void)ictus_because(trace->why, ICTUS_ERR_CORRUPT, "%s: OTF2 says: %s%s%s",
                            written ? trace->output : trace->path, OTF2_Error_GetDescription(code),
                            *detail ? ": " : "", detail);
    }
    return code;
}

static bool trace_open_is_anchor(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot != name && strcmp(dot, ".otf2") == 0;
}

static int trace_open_check_anchor(const char *path, struct ictus_why *why)
{
    struct stat st;
    if (stat(path, &st)) {
        return ictus_because(why, ICTUS_ERR_ARG, "%s: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode) || !trace_open_is_anchor(path)) {
        return ictus_because(why, ICTUS_ERR_FORMAT, "%s is not an OTF2 anchor file", path);
    }
    return ICTUS_OK;
}

/* The name of the only anchor in a directory. NULL: there is none, or more than one. */
static char *trace_open_only_anchor(const char *path)
{
    DIR *list = opendir(path);
    char *name = NULL;
    size_t count = 0;
    for (const struct dirent *entry = NULL; list && (entry = readdir(list)) != NULL;) {
        if (trace_open_is_anchor(entry->d_name) && count++ == 0) {
            name = strdup(entry->d_name);
        }
    }
    if (list) {
        (void)closedir(list);
    }
    if (count != 1) {
        free(name);
        name = NULL;
    }
    return name;
}

/* A directory stands for the traces.otf2 in it, or for its only anchor with another name. */
static char *anchor_path(const char *path)
{
    struct stat st;
    char *anchor = NULL;
    if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
        return strdup(path);
    }
    if (asprintf(&anchor, "%s/traces.otf2", path) < 0) {
        return NULL;
    }
    char *other = stat(anchor, &st) ? trace_open_only_anchor(path) : NULL;
    if (other) {
        free(anchor);
        if (asprintf(&anchor, "%s/%s", path, other) < 0) {
            anchor = NULL;
        }
        free(other);
    }
    return anchor;
}

static int trace_open_reader(struct trace *trace)
{
    uint64_t locations = 0;
    trace->reader = OTF2_Reader_Open(trace->path);
    if (!trace->reader) {
        return ictus_because(trace->said ? NULL : trace->why, ICTUS_ERR_FORMAT,
                             "%s is not an OTF2 archive that can be read", trace->path);
    }
    if (OTF2_Reader_SetSerialCollectiveCallbacks(trace->reader) != OTF2_SUCCESS ||
        OTF2_Reader_GetNumberOfLocations(trace->reader, &locations) != OTF2_SUCCESS ||
        OTF2_Reader_GetNumberOfGlobalDefinitions(trace->reader, &trace->definitions) !=
            OTF2_SUCCESS) {
        return ictus_because(trace->said ? NULL : trace->why, ICTUS_ERR_FORMAT,
                             "%s: the archive cannot be read", trace->path);
    }
    int err = ictusi_definitions_read_global(trace);
    if (!err && locations != trace->layout.location_count) {
        err = ictus_because(trace->why, ICTUS_ERR_CORRUPT,
                            "%s: the anchor file has %llu locations, but the definitions have %llu",
                            trace->path, (unsigned long long)locations,
                            (unsigned long long)trace->layout.location_count);
    }
    if (!err) {
        err = ictusi_definitions_link(trace);
    }
    return err ? err : ictusi_definitions_read_local(trace);
}

int ictusi_archive_open(const char *path, struct trace **out, struct ictus_why *why)
{
    struct trace *trace = calloc(1, sizeof *trace);
    if (!trace) {
        return ICTUS_ERR_NOMEM;
    }
    trace->why = why;
    trace->thread = pthread_self();
    trace->path = anchor_path(path);
    int err = trace->path ? trace_open_check_anchor(trace->path, why) : ICTUS_ERR_NOMEM;
    if (!err) {
        (void)OTF2_Error_RegisterCallback(trace_open_on_error, trace);
        err = trace_open_reader(trace);
    }
    if (err) {
        ictusi_archive_close(trace);
        return err;
    }
    *out = trace;
    return ICTUS_OK;
}

void ictusi_archive_close(struct trace *trace)
{
    if (!trace) {
        return;
    }
    if (trace->reader) {
        (void)OTF2_Reader_Close(trace->reader);
    }
    (void)OTF2_Error_RegisterCallback(NULL, NULL);
    for (uint64_t i = 0; i < trace->group_count; i++) {
        free(trace->groups[i].members);
    }
    for (uint64_t i = 0; i < trace->string_count; i++) {
        free(trace->strings[i]);
    }
    struct idmap *const maps[] = {
        &trace->location_index,   &trace->process_index,     &trace->group_index,
        &trace->comm_index,       &trace->string_index,      &trace->region_barrier,
        &trace->window_index,     &trace->links.tree_parent, &trace->links.tree_class,
        &trace->regions.index,    &trace->parameters.index,  &trace->locations.index,
        &trace->processes.index,  &trace->comms.index,       &trace->region_traits,
        &trace->places.attribute, &trace->places.region,     &trace->places.source,
        &trace->places.file,      &trace->places.line,       &trace->senders,
        &trace->team_region,      &trace->region_neighbors,  &trace->operands};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        ictusi_idmap_fini(maps[i]);
    }
    void *const arrays[] = {trace->groups,         trace->strings,        trace->links.processes,
                            trace->links.comms,    trace->regions.rows,   trace->parameters.rows,
                            trace->locations.rows, trace->processes.rows, trace->comms.rows};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
    ictusi_metric_names_fini(&trace->metrics);
    ictusi_layout_fini(&trace->layout);
    free(trace->path);
    free(trace);
}
