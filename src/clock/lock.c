/* SPDX-License-Identifier: BSD-3-Clause */
/* The network clock that `ictus lock` keeps on this machine: "lock" or "lock:name=NAME". */
#include "clock/sources.h"
#include "core/container.h"

#include <ictus/lock.h>
#include <ictus/text.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct network_options {
    struct spec_text name;
    struct spec_text directory;
    bool shared;
};

struct network {
    struct source base;
    struct ictus_lock *lock;
    struct network_options options;
};

static const struct spec_param params[] = {
    {"name", SPEC_TEXT, offsetof(struct network_options, name), "", 0, 0, NULL,
     "name of the clock; by default $ICTUS_LOCK_NAME or 'default'"},
    {"directory", SPEC_TEXT, offsetof(struct network_options, directory), "", 0, 0, NULL,
     "directory of its page; by default $ICTUS_LOCK_DIRECTORY or that of 'ictus "
     "lock'"},
    {"shared", SPEC_BOOL, offsetof(struct network_options, shared), "no", 0, 0, NULL,
     "treat the locked clocks of all machines as one clock with their own "
     "accuracy"},
    {NULL, SPEC_TEXT, 0, NULL, 0, 0, NULL, NULL},
};

/* The reading, in ns, needs the counter and a line from the daemon's page, but no system call. */
static int64_t network_read(const struct source *source)
{
    return ictus_lock_time(container_of(source, struct network, base)->lock).ns;
}

/*
 * All processes of one machine read the same page. The locked clocks of two machines agree only to
 * within their accuracy. They count as one clock only if the user says, by shared=yes, that this
 * accuracy is good enough. The algorithm "propagate" then needs no measurement at all.
 */
static void network_identify(const struct source *source, char *text, size_t size)
{
    const struct network *network = container_of(source, struct network, base);
    char kernel[128] = "everywhere";
    if (!network->options.shared) {
        ictusi_source_kernel_identity(kernel, sizeof(kernel));
    }
    (void)snprintf(text, size, "%s/lock/%.100s/%.100s", kernel, network->options.directory.text,
                   network->options.name.text);
}

static void network_free(struct source *source)
{
    struct network *network = container_of(source, struct network, base);
    ictus_lock_close(network->lock);
    free(network);
}

static int network_check(const struct spec *spec, struct ictus_why *why)
{
    struct network_options options;
    return ictusi_spec_read(spec, params, &options, why);
}

static int network_open(const struct spec *spec, const struct source_place *place,
                        struct source **source, struct ictus_why *why)
{
    struct network_options options;
    struct ictus_lock_reading now;
    (void)place;
    int err = ictusi_spec_read(spec, params, &options, why);
    if (err) {
        return err;
    }
    struct network *network = calloc(1, sizeof(*network));
    if (!network) {
        return ICTUS_ERR_NOMEM;
    }
    network->base.ops = &ictusi_source_lock;
    network->options = options;
    err = ictus_lock_open(options.name.text[0] ? options.name.text : NULL,
                          options.directory.text[0] ? options.directory.text : NULL, &network->lock,
                          why);
    if (err) {
        /* A caller that tries one clock after another treats a missing daemon as a missing
         * clock. */
        free(network);
        return err == ICTUS_ERR_IO ? ICTUS_ERR_UNSUPPORTED : err;
    }
    /* Until the daemon has locked for the first time, its page holds no line to compute a
     * reading with. */
    if (ictus_lock_now(network->lock, &now) || now.state == ICTUS_LOCK_UNLOCKED) {
        network_free(&network->base);
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED, "clock 'lock' is not locked yet");
    }
    *source = &network->base;
    return ICTUS_OK;
}

const struct source_ops ictusi_source_lock = {
    .name = "lock",
    .summary = "the network clock that ictus lock keeps, lock:name=NAME",
    .check = network_check,
    .open = network_open,
    .read = network_read,
    .identify = network_identify,
    .free = network_free,
};
