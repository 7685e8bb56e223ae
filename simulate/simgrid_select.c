/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Algorithms inside SimGrid's MPI: it has no MPI_T, and reads its choices once at start-up (ictus
 * simulate --collectives). Which these are is read back from SimGrid.
 */
#include "simgrid_settings.h"

#include <ictus/select.h>
#include <ictus/text.h>

#include <stdio.h>

const char *ictus_selector_started(const char *operation)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "smpi/%.50s", operation);
    const char *algorithm = ictusi_simgrid_setting(name);
    return algorithm && *algorithm ? algorithm : NULL;
}

int ictus_selector_create(struct ictus_selector **selector, struct ictus_why *why)
{
    (void)selector;
    return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                         "SimGrid's MPI takes algorithms at start-up only: ictus simulate "
                         "--collectives=OPERATION:NAME");
}

void ictus_selector_free(struct ictus_selector *selector)
{
    (void)selector;
}

const char *const *ictus_selector_operations(const struct ictus_selector *selector)
{
    static const char *const none[] = {NULL};
    (void)selector;
    return none;
}

int ictus_selector_algorithms(const struct ictus_selector *selector, const char *operation,
                              const char *const **names, struct ictus_why *why)
{
    (void)selector;
    (void)operation;
    (void)names;
    (void)why;
    return ICTUS_ERR_UNSUPPORTED;
}

int ictus_selector_force(struct ictus_selector *selector, MPI_Comm comm, const char *operation,
                         const char *algorithm, MPI_Comm *forced, struct ictus_why *why)
{
    (void)selector;
    (void)comm;
    (void)operation;
    (void)algorithm;
    (void)forced;
    (void)why;
    return ICTUS_ERR_UNSUPPORTED;
}

int ictus_selector_works(struct ictus_selector *selector, MPI_Comm forced, size_t bytes,
                         size_t element)
{
    (void)selector;
    (void)forced;
    (void)bytes;
    (void)element;
    return ICTUS_ERR_UNSUPPORTED;
}

int ictus_selector_activate(struct ictus_selector *selector, MPI_Comm forced)
{
    (void)selector;
    (void)forced;
    return ICTUS_ERR_UNSUPPORTED;
}

int ictus_selector_release(struct ictus_selector *selector, MPI_Comm *forced)
{
    (void)selector;
    (void)forced;
    return ICTUS_ERR_UNSUPPORTED;
}

int ictus_selector_prove(struct ictus_selector *selector, MPI_Comm forced, size_t bytes,
                         size_t element, const struct ictus_witness *witness, struct ictus_ran *ran)
{
    (void)selector;
    (void)forced;
    (void)bytes;
    (void)element;
    (void)witness;
    (void)ran;
    return ICTUS_ERR_UNSUPPORTED;
}

const char *ictus_selector_terms(const struct ictus_selector *selector)
{
    (void)selector;
    return "";
}
