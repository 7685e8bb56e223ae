/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an algorithm is given and what it makes of it, on clocks whose true distance is known: all
 * processes get the clock that rank 0 has already, with its error as far as that has grown until
 * now, and propagate copies it to those that read the same clock and to nobody else.
 */
#include "sync/clock.h"
#include "sync/sync.h"

#include "bent_source.h"
#include "check_mpi.h"

enum { SECOND = 1000000000 };

/* What is run with a source, from rank 0's base. */
static int run_with(const char *spec, struct bent_source *source, struct sync_run *run)
{
    struct sync *sync = NULL;
    REQUIRE(!ictusi_sync_create(spec, &sync, &run->why));
    run->comm = MPI_COMM_WORLD;
    run->source = &source->base;
    run->crowded = true;
    const int err = ictusi_sync_agree(MPI_COMM_WORLD, ictusi_sync_run(sync, run), &run->why);
    ictusi_sync_free(sync);
    return err;
}

/* The clock of rank 0: far from its own source, of another rate, and set 10 s ago. */
static struct sync_run run_from_a_base(const struct bent_source *source)
{
    struct sync_run run = {.comm = MPI_COMM_WORLD};
    const int64_t anchor = bent_source_read(&source->base) - INT64_C(10) * SECOND;
    if (check_rank == 0) {
        run.base = ictusi_line_make(anchor, INT64_C(123456789012), 0.25, 3e-5);
        run.base_error = (struct line_error){.offset_var_ns2 = 1e6,
                                             .slope_var_ns2_per_s2 = 1e4,
                                             .bound_ns = 4000.0,
                                             .bound_slope_ns_per_s = 700.0,
                                             .path_var_ns2 = 400.0};
    } else { /* nobody asks for it */
        run.base = ictusi_line_make(anchor, -77, 0.0, 1e-3);
        run.base_error = (struct line_error){.bound_ns = 1e12, .path_var_ns2 = 1e12};
    }
    return run;
}

/* The base at this true instant, which only rank 0 knows. */
static int64_t base_at(const struct sync_run *run, const struct bent_source *source, int64_t truth)
{
    int64_t global = ictusi_line_map(&run->base, truth + source->offset_ns);
    MPI_Bcast(&global, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    return global;
}

static void base_is_passed_on(const char *spec)
{
    struct bent_source source =
        bent_source_make(check_rank * INT64_C(1700000000), check_rank ? "other" : "one");
    struct sync_run run = run_from_a_base(&source);
    const int err = run_with(spec, &source, &run);
    if (err) {
        (void)fprintf(stderr, "%s: %s\n", spec, run.why.text);
    }
    REQUIRE(!err);
    int64_t truth = bent_source_truth();
    MPI_Bcast(&truth, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    const int64_t local = truth + source.offset_ns;
    const double away_s = (double)(local - run.line.anchor) * 1e-9;
    const double error =
        (double)(ictusi_line_map(&run.line, local) - base_at(&run, &source, truth));
    const double bound = ictusi_line_error_bound(&run.error, away_s);
    const double sigma = ictusi_line_error_sigma(&run.error, away_s);
    /* What the base's error has become, of all the clock's error. */
    CHECK(bound >= 4000.0 + 10 * 700.0);
    CHECK(sigma >= sqrt(1e6 + 100 * 1e4));
    CHECK(run.error.path_var_ns2 >= 400.0 && run.error.path_var_ns2 < 1e12);
    CHECK(check_rank == 0 || (run.error.path_var_ns2 > 400.0 && run.error.bound_ns > 11000.0));
    CHECK(fabs(error) <= bound - 11000.0 + 2.0);
    if (!(fabs(error) <= bound - 11000.0 + 2.0) || !(bound >= 11000.0)) {
        (void)fprintf(stderr, "%s: rank %d of %d: error %g, bound %g, sigma %g\n", spec, check_rank,
                      check_size, error, bound, sigma);
    }
}

static void bases_are_passed_on(void)
{
    static const char *const specs[] = {"skampi:exchanges=20",
                                        "jk:fitpoints=8,exchanges=10",
                                        "hca:fitpoints=8,exchanges=10",
                                        "hca2:fitpoints=8,exchanges=10",
                                        "hca3:fitpoints=8,exchanges=10",
                                        "hca3-offset:exchanges=20",
                                        "netgauge:patience=10",
                                        "mesh:window=0.05",
                                        "propagate(skampi:exchanges=20)",
                                        "hierarchy(hca3,skampi:exchanges=20)"};
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        base_is_passed_on(specs[i]);
    }
}

/* All processes that read one clock get rank 0's line and its error as they are. */
static void shared_clocks_are_copied(const char *spec, const char *identity, uint64_t checks)
{
    struct bent_source source = bent_source_make(5, identity);
    struct sync_run run = run_from_a_base(&source);
    REQUIRE(!run_with(spec, &source, &run));
    struct line line = run.line;
    struct line_error error = run.error;
    MPI_Bcast(&line, (int)sizeof(line), MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Bcast(&error, (int)sizeof(error), MPI_BYTE, 0, MPI_COMM_WORLD);
    CHECK(line.offset == INT64_C(123456789012) && line.slope == 3e-5 && line.frac == 0.25);
    CHECK(error.bound_ns == 4000.0 && error.path_var_ns2 == 400.0);
    CHECK(memcmp(&line, &run.line, sizeof(line)) == 0);
    CHECK(memcmp(&error, &run.error, sizeof(error)) == 0);
    /* Each process but the root is compared with its parent. */
    uint64_t exchanges = run.exchanges;
    MPI_Allreduce(MPI_IN_PLACE, &exchanges, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(exchanges == checks * (uint64_t)(check_size - 1));
}

static void stranger_is_named(struct bent_source *source, int stranger, const char *reason)
{
    struct sync_run run = run_from_a_base(source);
    char wanted[64];
    const int err = run_with("propagate:checks=3", source, &run);
    (void)snprintf(wanted, sizeof(wanted), "propagate: rank %d does not share the 'bent' clock",
                   stranger);
    CHECK(err == ICTUS_ERR_NOT_SHARED);
    CHECK(strstr(run.why.text, wanted) == run.why.text && strstr(run.why.text, reason));
}

/* Another clock is found wherever it is, by its name or by its readings. */
static void strangers_are_found(void)
{
    for (int r = 1; r < check_size; r++) {
        struct bent_source source = bent_source_make(0, check_rank == r ? "ictuz" : "ictus");
        stranger_is_named(&source, r, "their sources are not the same");
        source = bent_source_make(check_rank == r ? -SECOND : 0, "ictus");
        stranger_is_named(&source, r, "their readings differ by more than a message takes");
        source = bent_source_make(check_rank == r ? SECOND : 0, "ictus");
        stranger_is_named(&source, r, "their readings differ by more than a message takes");
    }
    if (check_size > 1) { /* what has no name may be anything */
        struct bent_source source = bent_source_make(0, "");
        stranger_is_named(&source, 1, "their sources are not the same");
    }
}

static void limits_are_as_told(void)
{
    static const struct {
        const char *spec;
        bool taken;
    } cases[] = {{"propagate:checks=1", true},        {"propagate:checks=10000", true},
                 {"propagate:checks=0", false},       {"propagate:checks=10001", false},
                 {"propagate(skampi,jk)", false},     {"jk:fitpoints=2", true},
                 {"jk:fitpoints=1000000", true},      {"jk:fitpoints=1000001", false},
                 {"skampi:exchanges=1000000", true},  {"skampi:exchanges=1", true},
                 {"skampi:exchanges=1000001", false}, {"skampi:exchanges=0", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sync *sync = NULL;
        struct ictus_why why = {""};
        const int err = ictusi_sync_create(cases[i].spec, &sync, &why);
        CHECK(cases[i].taken ? !err : err == ICTUS_ERR_SPEC && why.text[0]);
        ictusi_sync_free(sync);
    }
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    limits_are_as_told();
    shared_clocks_are_copied("propagate:checks=4", "x", 4);
    shared_clocks_are_copied("propagate(skampi):checks=1", "one clock", 1);
    shared_clocks_are_copied("propagate", "one clock", 5);
    strangers_are_found();
    bases_are_passed_on();
    return check_mpi_finish();
}
