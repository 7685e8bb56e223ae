/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists what a specification can name, and checks specifications. */
#include "clock/source.h"
#include "sync/clock.h"
#include "sync/sync.h"

#include <ictus/study.h>
#include <ictus/text.h>

#include <stdio.h>
#include <string.h>

int ictus_source_entry(size_t index, struct ictus_entry *entry)
{
    const struct source_ops *const *registry = ictusi_source_registry();
    for (size_t i = 0; registry[i]; i++) {
        if (i == index) {
            *entry = (struct ictus_entry){registry[i]->name, registry[i]->summary};
            return ICTUS_OK;
        }
    }
    return ICTUS_ERR_SAMPLES;
}

static const struct sync_ops *list_algorithm(size_t index)
{
    const struct sync_ops *const *registry = ictusi_sync_registry();
    for (size_t i = 0; registry[i]; i++) {
        if (i == index) {
            return registry[i];
        }
    }
    return NULL;
}

int ictus_sync_entry(size_t index, struct ictus_entry *entry)
{
    const struct sync_ops *ops = list_algorithm(index);
    if (!ops) {
        return ICTUS_ERR_SAMPLES;
    }
    *entry = (struct ictus_entry){ops->name, ops->summary};
    return ICTUS_OK;
}

int ictus_sync_parameter(size_t index, size_t parameter, struct ictus_parameter *out)
{
    const struct sync_ops *ops = list_algorithm(index);
    const struct spec_param *params = ops ? ops->params : NULL;
    for (size_t i = 0; params && params[i].name; i++) {
        if (i == parameter) {
            *out = (struct ictus_parameter){params[i].name, params[i].fallback, params[i].choices,
                                            params[i].help};
            return ICTUS_OK;
        }
    }
    return ICTUS_ERR_SAMPLES;
}

int ictus_source_check(const char *spec, struct ictus_why *why)
{
    return spec ? ictusi_source_check(spec, why)
                : ictus_because(why, ICTUS_ERR_ARG, "no clock was given");
}

/* The algorithm is created and freed again, because only the algorithm itself can check its
 * parameters. */
int ictus_sync_check(const char *spec, struct ictus_why *why)
{
    struct sync *sync = NULL;
    if (!spec) {
        return ictus_because(why, ICTUS_ERR_ARG, "no algorithm was given");
    }
    const int err = ictusi_sync_create(spec, &sync, why);
    if (!err) {
        ictusi_sync_free(sync);
    }
    return err;
}

int ictus_clock_default(const char *spec, char *sync, size_t sync_size, char *source,
                        size_t source_size, struct ictus_why *why)
{
    char whole_sync[CLOCK_SPEC_MAX];
    char whole_source[CLOCK_SPEC_MAX];
    const int err = ictusi_clock_spec(spec, whole_sync, sizeof(whole_sync), whole_source,
                                      sizeof(whole_source), why);
    if (err) {
        return err;
    }
    if (strlen(whole_sync) >= sync_size || strlen(whole_source) >= source_size) {
        return ictus_because(why, ICTUS_ERR_ARG, "the clock's specification is too long");
    }
    (void)snprintf(sync, sync_size, "%s", whole_sync);
    (void)snprintf(source, source_size, "%s", whole_source);
    return ICTUS_OK;
}
