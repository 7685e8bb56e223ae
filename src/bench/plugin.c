/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations from shared objects, as further rows after those of the tables. */
#include "bench/plugin.h"

#include <ictus/plugin.h>
#include <ictus/text.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum {
    OBJECTS_MAX = 16,
    ROWS_MAX = 128,
    /*
     * the factor between the parts of ICTUS_PLUGIN_VERSION; the rest counts versions of the
     * structures
     */
    STRUCTURES = 256
};

struct ictus_plugins {
    void *objects[OBJECTS_MAX];
    int object_count;
    struct operation rows[ROWS_MAX];
    int row_count;
};

static int plugin_run_user(struct call *call)
{
    const struct ictus_plugin_operation *user = call->operation->user;
    return user->run(call->plugin);
}

const struct operation *ictusi_plugin_operation(const struct ictus_plugins *plugins, int i)
{
    return i < plugins->row_count ? &plugins->rows[i] : NULL;
}

/* Whether an operation of that name exists in the tables or among the plugins. */
static bool plugin_knows(const struct ictus_plugins *plugins, const char *name)
{
    const struct operation *row = NULL;
    for (int i = 0; (row = ictusi_operation_row(i)); i++) {
        if (strcmp(row->name, name) == 0) {
            return true;
        }
    }
    for (int i = 0; (row = ictusi_plugin_operation(plugins, i)); i++) {
        if (strcmp(row->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static int plugin_add_row(struct ictus_plugins *plugins, const struct ictus_plugin_operation *user,
                          const char *path, struct ictus_why *why)
{
    if (!user->run || !user->init || !user->fini) {
        return ictus_because(why, ICTUS_ERR_FORMAT, "%s: operation '%s' lacks init, run or fini",
                             path, user->name);
    }
    if (plugin_knows(plugins, user->name)) {
        return ictus_because(why, ICTUS_ERR_EXISTS, "%s: an operation '%s' exists already", path,
                             user->name);
    }
    if (plugins->row_count == ROWS_MAX) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%s: plugins cannot add more than %d operations", path, ROWS_MAX);
    }
    plugins->rows[plugins->row_count++] = (struct operation){
        .name = user->name,
        .summary = user->summary ? user->summary : path,
        .shape = SHAPE_USER,
        .run = plugin_run_user,
        .user = user,
    };
    return ICTUS_OK;
}

/*
 * The symbol is looked up and its version compared before anything in it is used: a plugin for
 * another MPI library has handles of other types.
 */
static int plugin_load(struct ictus_plugins *plugins, const char *path, struct ictus_why *why)
{
    if (plugins->object_count == OBJECTS_MAX) {
        return ictus_because(why, ICTUS_ERR_FORMAT, "at most %d plugins can be loaded",
                             OBJECTS_MAX);
    }
    /* With local symbols, two plugins may define functions of the same name. */
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        return ictus_because(why, ICTUS_ERR_IO, "%s", dlerror());
    }
    plugins->objects[plugins->object_count++] = object;
    const struct ictus_plugin *plugin = dlsym(object, "ictus_plugin");
    if (!plugin || plugin->version / STRUCTURES != ICTUS_PLUGIN_VERSION / STRUCTURES ||
        !plugin->operations) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%s does not export 'ictus_plugin' of version %d; see ictus/plugin.h",
                             path, ICTUS_PLUGIN_VERSION / STRUCTURES);
    }
    /*
     * The rest of the version is the size of MPI's handles. A plugin that was built for another MPI
     * library would misread them.
     */
    if (plugin->version != ICTUS_PLUGIN_VERSION) {
        return ictus_because(why, ICTUS_ERR_FORMAT, "%s was built for another MPI library", path);
    }
    for (const struct ictus_plugin_operation *user = plugin->operations; user->name; user++) {
        const int err = plugin_add_row(plugins, user, path, why);
        if (err) {
            return err;
        }
    }
    return ICTUS_OK;
}

int ictus_plugins_load(struct ictus_plugins **plugins, const char *path, struct ictus_why *why)
{
    if (!plugins || !path) {
        return ICTUS_ERR_ARG;
    }
    if (!*plugins) {
        *plugins = calloc(1, sizeof(**plugins));
    }
    return *plugins ? plugin_load(*plugins, path, why) : ICTUS_ERR_NOMEM;
}

void ictus_plugins_free(struct ictus_plugins *plugins)
{
    for (int i = 0; plugins && i < plugins->object_count; i++) {
        (void)dlclose(plugins->objects[i]);
    }
    free(plugins);
}
