/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers by name. */
#include "bench/subject.h"

#include <ictus/text.h>

#include <string.h>

/*
 * A name that begins with "mpi:" forces an algorithm of the MPI library, on a communicator that the
 * selector makes. Other names are the barriers of ictus.
 */
int ictusi_subject_init(struct subject *subject, MPI_Comm comm, const char *name,
                        struct ictus_selector *selector, struct ictus_why *why)
{
    static const char prefix[] = "mpi:";
    const char *const *names = ictus_barrier_names();
    *subject = (struct subject){ICTUS_BARRIER_MPI, comm, MPI_COMM_NULL, selector};
    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0) {
        int i = 0;
        while (names[i] && strcmp(names[i], name) != 0) {
            i++;
        }
        subject->algorithm = (enum ictus_barrier_algorithm)i;
        return names[i] ? ICTUS_OK : ictus_unknown(why, "barrier", name, names);
    }
    if (!selector) {
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                             "'%.80s': the MPI library offers no choice of algorithms", name);
    }
    const int err = ictus_selector_force(selector, comm, "barrier", name + sizeof(prefix) - 1,
                                         &subject->forced, why);
    if (!err) {
        subject->comm = subject->forced;
    }
    return err;
}

void ictusi_subject_fini(struct subject *subject)
{
    if (subject->forced != MPI_COMM_NULL) {
        (void)ictus_selector_release(subject->selector, &subject->forced);
    }
}
