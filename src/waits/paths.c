/* SPDX-License-Identifier: BSD-3-Clause */
/* The call tree, which grows while events are read. */
#include "waits/paths.h"

#include "core/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_TEXT = 256 };

/* Paradigms whose calls can wait for other processes or threads. */
static bool path_is_library(OTF2_Paradigm paradigm)
{
    return paradigm == OTF2_PARADIGM_MPI || paradigm == OTF2_PARADIGM_SHMEM ||
           paradigm == OTF2_PARADIGM_GASPI || paradigm == OTF2_PARADIGM_PTHREAD;
}

/* MPI_Iprobe and MPI_Improbe return at once and so do not count. */
static bool path_is_probe(const char *name)
{
    return strstr(name, "MPI_Probe") || strstr(name, "MPI_Mprobe");
}

static bool path_is_barrier(OTF2_RegionRole role)
{
    return role == OTF2_REGION_ROLE_BARRIER || role == OTF2_REGION_ROLE_IMPLICIT_BARRIER;
}

/* Whether the role of a region is communication. */
static bool path_communicates(OTF2_RegionRole role)
{
    return path_is_barrier(role) || role == OTF2_REGION_ROLE_POINT2POINT ||
           role == OTF2_REGION_ROLE_RMA ||
           (role >= OTF2_REGION_ROLE_COLL_ONE2ALL && role <= OTF2_REGION_ROLE_COLL_OTHER);
}

/*
 * What a region means for the analysis: a call that can wait, a lock, the start of an access epoch
 * or a probe (neither of which records an event), or the program's own code. The paradigm and role
 * that a tracer states are trusted. Some tracers state neither, so names are examined as well.
 */
static uint8_t path_kind(const char *name, OTF2_RegionRole role, OTF2_Paradigm paradigm)
{
    if (paradigm == OTF2_PARADIGM_OPENMP) {
        const bool lock = role == OTF2_REGION_ROLE_CRITICAL || role == OTF2_REGION_ROLE_ORDERED ||
                          strstr(name, "_lock") != NULL;
        return path_is_barrier(role) ? REGION_CALL : lock ? REGION_LOCK : REGION_CODE;
    }
    if (strstr(name, "MPI_Win_start") || path_is_probe(name)) {
        return REGION_START;
    }
    return path_is_library(paradigm) || path_communicates(role) || strncmp(name, "MPI_", 4) == 0 ||
                   strncmp(name, "PMPI_", 5) == 0
               ? REGION_CALL
               : REGION_CODE;
}

/*
 * Traits are found by name, because OTF2 does not record which sends are buffered or synchronous.
 * "endrecv" matches Sendrecv in any spelling.
 */
static uint8_t path_traits(const char *name)
{
    const bool buffered = strstr(name, "bsend") || strstr(name, "Bsend");
    const bool synchronous = strstr(name, "ssend") || strstr(name, "Ssend");
    return (uint8_t)((buffered ? TRAIT_BUFFERED : 0) | (synchronous ? TRAIT_SYNCHRONOUS : 0) |
                     (strstr(name, "endrecv") ? TRAIT_SENDRECV : 0) |
                     (strstr(name, "fence") ? TRAIT_FENCE : 0) |
                     (strstr(name, "MPI_File_") ? TRAIT_FILE : 0) |
                     (path_is_probe(name) ? TRAIT_PROBE : 0));
}

/* Kinds are determined once per region, because there are millions of calls but few regions. */
int ictusi_paths_init(struct paths *paths, const struct trace *trace)
{
    *paths = (struct paths){.trace = trace};
    paths->kinds = calloc(trace->regions.count + 1, sizeof *paths->kinds);
    paths->traits = calloc(trace->regions.count + 1, sizeof *paths->traits);
    int err = paths->kinds && paths->traits ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (uint64_t i = 0; i < trace->regions.count && !err; i++) {
        const struct name_row *row = &trace->regions.rows[i];
        const int64_t traits = ictusi_idmap_get(&trace->region_traits, row->ref, 0);
        const char *name = ictusi_archive_string(trace, row->string);
        paths->kinds[i] =
            path_kind(name, (OTF2_RegionRole)(traits & 0xff), (OTF2_Paradigm)(traits >> 8));
        paths->traits[i] = path_traits(name);
    }
    for (int i = 0; i <= PATH_MUTED && !err; i++) {
        struct path *path = array_append((void **)&paths->list, &paths->count, sizeof *path);
        err = path ? ICTUS_OK : ICTUS_ERR_NOMEM;
        if (path) {
            *path = (struct path){PATH_NONE, UINT32_MAX, 0, 0, PATH_NONE, PATH_NONE, REGION_CODE};
        }
    }
    return err;
}

void ictusi_paths_fini(struct paths *paths)
{
    free(paths->kinds);
    free(paths->traits);
    free(paths->list);
    ictusi_idmap_fini(&paths->children);
    *paths = (struct paths){.kinds = NULL};
}

/* A path is identified by its parent, its region and the call site. Equal paths share one node. */
static uint32_t path_child(struct paths *paths, uint32_t parent, uint32_t region, uint64_t site)
{
    const uint64_t key = (uint64_t)parent << 32 | region;
    int64_t *slot = ictusi_idmap_at(&paths->children, key, site, (int64_t)paths->count);
    if (!slot || paths->count >> PATH_BITS) {
        return PATH_NONE;
    }
    if (*slot == (int64_t)paths->count) {
        struct path *path = array_append((void **)&paths->list, &paths->count, sizeof *path);
        if (!path) {
            return PATH_NONE;
        }
        const uint8_t kind = region == UINT32_MAX ? REGION_CODE : paths->kinds[region];
        *path = (struct path){parent, region, site, 0, PATH_NONE, PATH_NONE, kind};
    }
    return (uint32_t)*slot;
}

uint32_t ictusi_paths_enter(struct paths *paths, uint32_t parent, uint32_t ref, uint64_t site)
{
    const int64_t index = ictusi_idmap_get(&paths->trace->regions.index, ref, 0);
    const uint32_t region = index == IDMAP_NONE ? UINT32_MAX : (uint32_t)index;
    const uint32_t child = path_child(paths, parent, region, site);
    if (child != PATH_NONE) {
        const uint32_t last = paths->list[parent].last_child;
        if (last != PATH_NONE) {
            paths->list[last].follower = child;
        }
        paths->list[child].ref = ref;
        paths->list[parent].last_child = child;
    }
    return child;
}

/* Parents precede their children, so their new numbers are known. */
int ictusi_paths_append(struct paths *paths, const struct paths *other, uint32_t *which)
{
    for (uint64_t i = 0; i < other->count; i++) {
        const struct path *path = &other->list[i];
        which[i] = i <= PATH_MUTED
                       ? (uint32_t)i
                       : path_child(paths, which[path->parent], path->region, path->site);
        if (which[i] == PATH_NONE) {
            return ICTUS_ERR_NOMEM;
        }
    }
    return ICTUS_OK;
}

uint8_t ictusi_paths_traits(const struct paths *paths, uint32_t path)
{
    const uint32_t region = paths->list[path].region;
    return region == UINT32_MAX ? 0 : paths->traits[region];
}

const char *ictusi_paths_leaf(const struct paths *paths, uint32_t path)
{
    if (path == PATH_PROGRAM) {
        return "(program)";
    }
    if (path == PATH_MUTED) {
        return "(not recorded)";
    }
    const uint32_t region = paths->list[path].region;
    return region == UINT32_MAX
               ? "(undefined region)"
               : ictusi_archive_string(paths->trace, paths->trace->regions.rows[region].string);
}

/* The name of a file without its directories. */
static const char *path_file_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

void ictusi_paths_place(const struct paths *paths, uint32_t path, char *text, size_t size)
{
    const struct trace *trace = paths->trace;
    const uint64_t site = paths->list[path].site;
    *text = '\0';
    if (site == 0) {
        return;
    }
    /*
     * A call site is a calling context plus one. Use the file and line if the tracer recorded them,
     * else the function.
     */
    const int64_t source = ictusi_idmap_get(&trace->places.source, site - 1, 0);
    const int64_t file = ictusi_idmap_get(&trace->places.file, (uint64_t)source, 0);
    const int64_t region = ictusi_idmap_get(&trace->places.region, site - 1, 0);
    if (file != IDMAP_NONE) {
        (void)snprintf(text, size, "%s:%lld",
                       path_file_name(ictusi_archive_string(trace, (uint32_t)file)),
                       (long long)ictusi_idmap_get(&trace->places.line, (uint64_t)source, 0));
    } else if (region != IDMAP_NONE) {
        (void)snprintf(text, size, "%s",
                       ictusi_archive_name(trace, &trace->regions, (uint64_t)region));
    }
}

/*
 * The text runs from the outermost call that fits to the innermost one. If there is little room or
 * a deep recursion, the outer calls are left out, since the inner ones show where the wait was.
 */
void ictusi_paths_text(const struct paths *paths, uint32_t path, char *text, size_t size)
{
    enum { DEPTH = 64 };
    uint32_t chain[DEPTH];
    int depth = 0;
    size_t length = 0;
    for (uint32_t at = path; at != PATH_NONE && depth < DEPTH; at = paths->list[at].parent) {
        const size_t more = strlen(ictusi_paths_leaf(paths, at)) + 1;
        if ((at <= PATH_MUTED && depth > 0) || (depth > 0 && length + more >= size)) {
            break;
        }
        length += more;
        chain[depth++] = at;
    }
    *text = '\0';
    for (size_t used = 0; depth > 0 && used < size;) {
        const int put = snprintf(text + used, size - used, "%s%s", used ? "/" : "",
                                 ictusi_paths_leaf(paths, chain[--depth]));
        used += put > 0 ? (size_t)put : size;
    }
    char place[PLACE_TEXT];
    ictusi_paths_place(paths, path, place, sizeof place);
    const size_t used = strlen(text);
    if (*place && used < size) {
        (void)snprintf(text + used, size - used, " %s", place);
    }
}
