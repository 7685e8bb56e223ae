/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions are read from the global definitions; the call tree grows while events are read. */
#include "waits/paths.h"

#include <ictus/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reading the definitions: strings come before the regions that use them. */
struct naming {
    struct paths *paths;
    char **strings;
    uint64_t string_count;
    struct idmap index; /* reference -> string */
    int err;
};

/* Append a zeroed element to an array that doubles; the new element, or NULL. */
static void *paths_append(void **array, uint64_t *count, size_t size)
{
    const uint64_t n = *count;
    if ((n & (n - 1)) == 0) {
        char *wide = realloc(*array, (n ? n * 2 : 1) * size);
        if (!wide) {
            return NULL;
        }
        *array = wide;
    }
    char *element = (char *)*array + n * size;
    memset(element, 0, size);
    *count = n + 1;
    return element;
}

static OTF2_CallbackCode on_string(void *data, OTF2_StringRef self, const char *text)
{
    struct naming *n = data;
    const uint64_t index = n->string_count;
    char **kept = paths_append((void **)&n->strings, &n->string_count, sizeof *kept);
    if (kept) {
        *kept = strdup(text ? text : "");
    }
    if (!kept || !*kept || ictusi_idmap_put(&n->index, self, 0, (int64_t)index)) {
        n->err = ICTUS_ERR_NOMEM;
        return OTF2_CALLBACK_INTERRUPT;
    }
    return OTF2_CALLBACK_SUCCESS;
}

static bool is_library(OTF2_Paradigm paradigm)
{
    return paradigm == OTF2_PARADIGM_MPI || paradigm == OTF2_PARADIGM_SHMEM ||
           paradigm == OTF2_PARADIGM_GASPI || paradigm == OTF2_PARADIGM_PTHREAD;
}

static uint8_t kind_of(const char *name, OTF2_RegionRole role, OTF2_Paradigm paradigm)
{
    const bool barrier =
        role == OTF2_REGION_ROLE_BARRIER || role == OTF2_REGION_ROLE_IMPLICIT_BARRIER;
    const bool transfer =
        role >= OTF2_REGION_ROLE_COLL_ONE2ALL && role <= OTF2_REGION_ROLE_COLL_OTHER;
    const bool other = role == OTF2_REGION_ROLE_POINT2POINT || role == OTF2_REGION_ROLE_RMA;
    if (paradigm == OTF2_PARADIGM_OPENMP) {
        const bool lock = role == OTF2_REGION_ROLE_CRITICAL || role == OTF2_REGION_ROLE_ORDERED ||
                          strstr(name, "_lock") != NULL;
        return barrier ? REGION_CALL : lock ? REGION_LOCK : REGION_CODE;
    }
    if (is_library(paradigm) || barrier || transfer || other || strncmp(name, "MPI_", 4) == 0 ||
        strncmp(name, "PMPI_", 5) == 0) {
        return REGION_CALL;
    }
    return REGION_CODE;
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_region(void *data, OTF2_RegionRef self, OTF2_StringRef name,
                                   OTF2_StringRef canonical, OTF2_StringRef description,
                                   OTF2_RegionRole role, OTF2_Paradigm paradigm,
                                   OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin,
                                   uint32_t end)
{
    struct naming *n = data;
    const int64_t text = ictusi_idmap_get(&n->index, name, 0);
    const uint64_t index = n->paths->region_count;
    struct region *region = paths_append((void **)&n->paths->regions, &n->paths->region_count,
                                         sizeof *n->paths->regions);
    (void)canonical;
    (void)description;
    (void)flags;
    (void)file;
    (void)begin;
    (void)end;
    if (region) {
        region->name = strdup(text == IDMAP_NONE ? "(without a name)" : n->strings[text]);
    }
    if (!region || !region->name ||
        ictusi_idmap_put(&n->paths->region_index, self, 0, (int64_t)index)) {
        n->err = ICTUS_ERR_NOMEM;
        return OTF2_CALLBACK_INTERRUPT;
    }
    region->kind = kind_of(region->name, role, paradigm);
    region->mpi = paradigm == OTF2_PARADIGM_MPI;
    return OTF2_CALLBACK_SUCCESS;
}

static int paths_read(struct naming *n, OTF2_Reader *reader, const char *path,
                      struct ictus_why *why)
{
    OTF2_GlobalDefReader *global = OTF2_Reader_GetGlobalDefReader(reader);
    OTF2_GlobalDefReaderCallbacks *set = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_ErrorCode code = global && set ? OTF2_SUCCESS : OTF2_ERROR_INVALID;
    uint64_t read = 0;
    if (code == OTF2_SUCCESS) {
        OTF2_GlobalDefReaderCallbacks_SetStringCallback(set, on_string);
        OTF2_GlobalDefReaderCallbacks_SetRegionCallback(set, on_region);
        code = OTF2_Reader_RegisterGlobalDefCallbacks(reader, global, set, n);
    }
    if (code == OTF2_SUCCESS) {
        code = OTF2_Reader_ReadAllGlobalDefinitions(reader, global, &read);
    }
    OTF2_GlobalDefReaderCallbacks_Delete(set);
    OTF2_Reader_CloseGlobalDefReader(reader, global);
    if (n->err) {
        return n->err;
    }
    return code == OTF2_SUCCESS
               ? ICTUS_OK
               : ictus_because(why, ICTUS_ERR_CORRUPT, "%s: its regions cannot be read", path);
}

int ictusi_paths_init(struct paths *paths, const struct trace *trace, struct ictus_why *why)
{
    struct naming naming = {.paths = paths};
    *paths = (struct paths){.regions = NULL};
    int err = paths_read(&naming, trace->reader, trace->path, why);
    for (uint64_t i = 0; i < naming.string_count; i++) {
        free(naming.strings[i]);
    }
    free(naming.strings);
    ictusi_idmap_fini(&naming.index);
    for (int i = 0; i <= PATH_MUTED && !err; i++) {
        struct path *path = paths_append((void **)&paths->list, &paths->count, sizeof *path);
        err = path ? ICTUS_OK : ICTUS_ERR_NOMEM;
        if (path) {
            *path = (struct path){PATH_NONE, UINT32_MAX, 0};
        }
    }
    return err;
}

void ictusi_paths_fini(struct paths *paths)
{
    for (uint64_t i = 0; i < paths->region_count; i++) {
        free(paths->regions[i].name);
    }
    free(paths->regions);
    free(paths->list);
    ictusi_idmap_fini(&paths->region_index);
    ictusi_idmap_fini(&paths->children);
    *paths = (struct paths){.regions = NULL};
}

uint32_t ictusi_paths_child(struct paths *paths, uint32_t parent, uint32_t region, uint64_t site)
{
    const uint64_t key = (uint64_t)parent << 32 | region;
    int64_t *slot = ictusi_idmap_at(&paths->children, key, site, (int64_t)paths->count);
    if (!slot || paths->count >= PATH_NONE) {
        return PATH_NONE;
    }
    if (*slot == (int64_t)paths->count) {
        struct path *path = paths_append((void **)&paths->list, &paths->count, sizeof *path);
        if (!path) {
            return PATH_NONE;
        }
        *path = (struct path){parent, region, site};
    }
    return (uint32_t)*slot;
}

uint32_t ictusi_paths_region(const struct paths *paths, uint32_t ref)
{
    const int64_t index = ictusi_idmap_get(&paths->region_index, ref, 0);
    return index == IDMAP_NONE ? UINT32_MAX : (uint32_t)index;
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
    return region == UINT32_MAX ? "(undefined region)" : paths->regions[region].name;
}

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
}
