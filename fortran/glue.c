/* SPDX-License-Identifier: BSD-3-Clause */
/* What the Fortran procedures call: Fortran's handles in, C's functions behind. */
#include <ictus/clock.h>
#include <ictus/harmonize.h>
#include <ictus/mpix_harmonize.h>

int ictusf_harmonize(MPI_Fint comm, int *flag);
int ictusf_configure(MPI_Fint comm, const char *spec, const char *clock);
int ictusf_clock_create(MPI_Fint comm, const char *spec, void **clock);
int ictusf_clock_resync(void *clock);
int64_t ictusf_clock_now(const void *clock);
double ictusf_clock_sigma(const void *clock);
void ictusf_clock_free(void *clock);

static const char *given(const char *text)
{
    return text && text[0] ? text : NULL;
}

int ictusf_harmonize(MPI_Fint comm, int *flag)
{
    return MPIX_Harmonize(MPI_Comm_f2c(comm), flag);
}

int ictusf_configure(MPI_Fint comm, const char *spec, const char *clock)
{
    return ictus_harmonize_configure(MPI_Comm_f2c(comm), given(spec), given(clock), NULL);
}

int ictusf_clock_create(MPI_Fint comm, const char *spec, void **clock)
{
    struct ictus_clock *made = NULL;
    const int err = ictus_clock_create(MPI_Comm_f2c(comm), given(spec), &made);
    *clock = made;
    return err;
}

int ictusf_clock_resync(void *clock)
{
    return ictus_clock_resync(clock);
}

int64_t ictusf_clock_now(const void *clock)
{
    return ictus_clock_now(clock).ns;
}

double ictusf_clock_sigma(const void *clock)
{
    struct ictus_reading reading;
    return ictus_clock_read(clock, &reading) == ICTUS_OK ? reading.sigma_ns : -1.0;
}

void ictusf_clock_free(void *clock)
{
    ictus_clock_free(clock);
}
