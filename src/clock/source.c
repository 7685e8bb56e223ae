/* SPDX-License-Identifier: BSD-3-Clause */
/* The registry of time sources. */
#include "clock/source.h"

#include "clock/sources.h"

#include <ictus/text.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The first entry is the default. A new source takes one line here. */
static const struct source_ops *const registry[] = {
    &ictusi_source_monotonic,
    &ictusi_source_monotonic_raw,
    &ictusi_source_realtime,
    &ictusi_source_wtime,
    &ictusi_source_tsc,
    &ictusi_source_phc,
    &ictusi_source_lock,
    &ictusi_source_sim,
#if defined(ICTUS_SIMGRID)
    &ictusi_source_simgrid,
#endif
    NULL,
};

enum { REGISTRY_SIZE = sizeof(registry) / sizeof(registry[0]) };

const struct source_ops *const *ictusi_source_registry(void)
{
    return registry;
}

/* Find the source that a specification names and let it check the options. */
static int source_find(const char *text, struct spec *spec, const struct source_ops **ops,
                       struct ictus_why *why)
{
    const char *names[REGISTRY_SIZE] = {NULL};
    const int err = ictusi_spec_split(text, spec, why);
    if (err) {
        return err;
    }
    for (int i = 0; registry[i]; i++) {
        names[i] = registry[i]->name;
        if (strcmp(spec->name, registry[i]->name) == 0) {
            *ops = registry[i];
            return registry[i]->check(spec, why);
        }
    }
    return ictus_unknown(why, "clock", spec->name, names);
}

int ictusi_source_check(const char *text, struct ictus_why *why)
{
    struct spec spec;
    const struct source_ops *ops = NULL;
    return source_find(text, &spec, &ops, why);
}

int ictusi_source_check_bare(const struct spec *spec, struct ictus_why *why)
{
    return spec->options[0] || spec->child_count
               ? ictus_because(why, ICTUS_ERR_SPEC, "clock '%s' takes no options", spec->name)
               : ICTUS_OK;
}

int ictusi_source_open(const char *text, const struct source_place *place, struct source **source,
                       struct ictus_why *why)
{
    static const struct source_place alone = {0, 0};
    struct spec spec;
    const struct source_ops *ops = NULL;
    const int err = source_find(text, &spec, &ops, why);
    return err ? err : ops->open(&spec, place ? place : &alone, source, why);
}

void ictusi_source_free(struct source *source)
{
    if (source) {
        source->ops->free(source);
    }
}

/*
 * The boot id changes with every boot and differs between machines. A time namespace may shift the
 * monotonic clocks of a container against those of its host. Together they identify the clock that
 * a process reads; a host name would not.
 */
void ictusi_source_kernel_identity(char *text, size_t size)
{
    char boot[40] = "unknown";
    struct stat space;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file) {
        if (fgets(boot, sizeof(boot), file)) {
            boot[strcspn(boot, "\n")] = '\0';
        }
        (void)fclose(file);
    }
    const bool known = stat("/proc/self/ns/time", &space) == 0;
    (void)snprintf(text, size, "%s/%llu", boot, known ? (unsigned long long)space.st_ino : 0ULL);
}
