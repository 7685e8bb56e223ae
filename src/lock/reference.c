/* SPDX-License-Identifier: BSD-3-Clause */
/* The registry of reference clocks. */
#include "reference.h"

#include <ictus/text.h>
#include <string.h>

static const struct reference_ops *const registry[] = {
    &ictusi_reference_phc,  &ictusi_reference_pps,  &ictusi_reference_shm,
    &ictusi_reference_sock, &ictusi_reference_gpsd,
};

enum { COUNT = sizeof(registry) / sizeof(registry[0]), NAME_BYTES = 32 };

int ictusi_reference_open(const char *spec, struct reference **reference, struct ictus_why *why)
{
    const char *names[COUNT + 1] = {NULL};
    char word[NAME_BYTES];
    const size_t length = strcspn(spec, ":");
    for (size_t i = 0; i < COUNT; i++) {
        names[i] = registry[i]->name;
        if (strlen(registry[i]->name) == length && strncmp(registry[i]->name, spec, length) == 0) {
            return registry[i]->open(spec[length] ? spec + length + 1 : "", reference, why);
        }
    }
    const size_t shown = length < sizeof(word) - 1 ? length : sizeof(word) - 1;
    memcpy(word, spec, shown);
    word[shown] = '\0';
    return ictus_unknown(why, "reference", word, names);
}

int ictusi_reference_read(struct reference *reference, struct timebase *base, int64_t utc_ns,
                          struct sample *samples, int max)
{
    return reference->ops->read(reference, base, utc_ns, samples, max);
}

void ictusi_reference_close(struct reference *reference)
{
    if (reference) {
        reference->ops->close(reference);
    }
}
