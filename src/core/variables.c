/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of all environment variables of ictus. A misspelt one has no effect, and a program that
 * silently does something else than was asked for is worse than a line that says so. lint.man
 * compares this list with what the sources read.
 */
#include <ictus/text.h>

#include <stdbool.h>
#include <string.h>

extern char **environ;

static const char variable_prefix[] = "ICTUS_";

/* Without the prefix, which would make all of them alike. */
static const char *const variable_names[] = {"BARRIER",
                                             "BARRIER_RETRY",
                                             "BARRIER_SUMMARY",
                                             "CLOCK",
                                             "HARMONIZE",
                                             "LOCK_DIRECTORY",
                                             "LOCK_NAME",
                                             "PROGRESS",
                                             "SIMULATE_DIR",
                                             "SYNC",
                                             "TRACE_BUFFER",
                                             "TRACE_CLOCK",
                                             "TRACE_DEFER",
                                             "TRACE_FILTER",
                                             "TRACE_FORCE",
                                             "TRACE_KEEP",
                                             "TRACE_LIBRARY",
                                             "TRACE_LIMIT",
                                             "TRACE_METRICS",
                                             "TRACE_METRICS_EVERY",
                                             "TRACE_OFF",
                                             "TRACE_OUTPUT",
                                             "TRACE_PID",
                                             "TRACE_QUIET",
                                             "TRACE_REQUESTS",
                                             "TRACE_RESYNC_BARRIERS",
                                             "TRACE_RESYNC_EVERY",
                                             "TRACE_SCRATCH",
                                             "TRACE_STATISTICS",
                                             "TRACE_SYNC",
                                             "TRACE_WINDOW",
                                             "WTIME_RESYNC",
                                             NULL};

/*
 * Names, or their beginnings, of variables that are not for ictus: by which modules say where it is
 * installed, and those of its build and its tests. ictus simulate tells its simulator many things.
 */
static const char *const variable_foreign[] = {
    "BASE", "BIN",       "CLI_",   "DIR",     "HOME",     "INC",  "LAUNCH",
    "LIB",  "MAN",       "MODULE", "MUTANT_", "PACKAGE_", "PATH", "PREFIX",
    "ROOT", "SIMULATE_", "TEST_",  "VERSION", "WERROR",   NULL};

static bool variable_is_known(const char *name)
{
    for (size_t i = 0; variable_names[i]; i++) {
        if (strcmp(variable_names[i], name) == 0) {
            return true;
        }
    }
    for (size_t i = 0; variable_foreign[i]; i++) {
        if (strncmp(variable_foreign[i], name, strlen(variable_foreign[i])) == 0) {
            return true;
        }
    }
    return false;
}

size_t ictus_variable_unknown(size_t from, struct ictus_why *why)
{
    const size_t prefix = sizeof variable_prefix - 1;
    for (size_t i = from; environ && environ[i]; i++) {
        char name[80];
        const size_t length = strcspn(environ[i], "=");
        const size_t kept = length < sizeof name ? length : sizeof name - 1;
        memcpy(name, environ[i], kept);
        name[kept] = '\0';
        if (strncmp(name, variable_prefix, prefix) != 0 || variable_is_known(name + prefix)) {
            continue;
        }
        const char *near = ictus_nearest(name + prefix, variable_names);
        (void)ictus_because(why, ICTUS_ERR_UNKNOWN,
                            near ? "the variable %s has no effect; did you mean ICTUS_%s?"
                                 : "the variable %s has no effect; see ictus-environment(7)",
                            name, near);
        return i + 1;
    }
    return 0;
}
