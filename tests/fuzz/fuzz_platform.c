/* SPDX-License-Identifier: BSD-3-Clause */
/* SimGrid platform files, and the description of jitter. */
#include "fuzz.h"
#include "simulate/simulate_platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char xml[128];
    struct simulate_jitter jitter;
    struct ictus_why why;
    char *text = fuzz_text(bytes, length);
    (void)simulate_jitter_read(text, &jitter, &why);
    free(text);
    /* Platform files are known by their name. */
    fuzz_put(fuzz_directory(), "p.xml", bytes, length);
    (void)snprintf(xml, sizeof(xml), "%s/p.xml", fuzz_directory());
    const struct simulate_cluster cluster = {.nodes = 4, .ppn = 2, .topology = xml};
    (void)simulate_platform_write(&cluster, "/dev/null", "/dev/null", &why);
    return 0;
}
