/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus drift and ictus rtt, as one rank of a job sees them: who measures with whom, for how long,
 * what goes to rank 0, and what is described there. */
#include "clock_scene.h"

/* As a client it measures with the reference alone; its series begins with its first offset. */
static void clients_send_their_series(void)
{
    begin(1, 3);
    world.over_at = 6;
    CHECK(typed_run(&command_drift, "--duration=10s --interval=2s --exchanges=30 --clock=tsc") ==
          EXIT_OK);
    CHECK(world.measured == 5 && world.slept == 6 && world.met == 6);
    for (int k = 0; k < 5; k++) {
        CHECK(world.pairs[k][0] == 1 && world.pairs[k][1] == 0 && world.counts[k] == 30);
    }
    CHECK_STR(world.clock, "tsc");
    CHECK(world.sends == 4 && world.head[0] == 5 && world.head[1] == 47);
    CHECK(world.sent_counts[1] == 1 && world.sent_counts[2] == 5 && world.sent_counts[3] == 5);
    CHECK(world.sent_offset == 5000000000 && world.sent_first == 0);
    CHECK_NEAR(world.sent_last, 4 * 300 + 4 * 0.25, 1e-9);
    CHECK(world.said_count == 0 && world.opened == 1 && world.closed == 1 && world.freed == 1);
    CHECK(world.hidden == 1 && world.total == 10);
}

/* The reference measures with everybody in turn, to the end of the time; rank 0 describes all. */
static void references_answer_everybody(void)
{
    begin(0, 3);
    world.cost_s = 0.125;
    CHECK(typed_run(&command_drift, "--duration=10s --interval=2s --fit=3s --tolerance=5us") ==
          EXIT_OK);
    CHECK(world.measured == 12); /* at 0, 2, ..., 10 s */
    for (int k = 0; k < 12; k++) {
        CHECK(world.pairs[k][0] == 1 + k % 2 && world.pairs[k][1] == 0);
    }
    CHECK_STR(world.clock, "usual");
    CHECK_NEAR(world.last_done, 10.25, 1e-9);
    CHECK(world.steps == 6 && world.said_count == 2 && world.receives == 8);
    for (int i = 0; i < 2; i++) {
        const struct described *d = &world.said[i];
        CHECK(d->from == 1 + i && d->to == 0 && d->n == 3 && d->half_width_ns == 13.5 + i);
        CHECK(d->first_ns == 1001 + i && d->first == 1.0 && d->last == 20.0 * (1 + i));
        CHECK(d->fit_s == 3 && d->text);
        CHECK_NEAR(d->tolerance_ns, 5000, 1e-6);
    }
}

/* Another rank may be the reference: rank 0's own series stays where it is. */
static void rank_0_may_be_a_client(void)
{
    begin(0, 2);
    CHECK(typed_run(&command_drift,
                    "--duration=3s --interval=1s --reference-rank=1 --format=json") == EXIT_OK);
    CHECK(world.measured == 4 && world.said_count == 1 && world.receives == 0);
    const struct described *d = &world.said[0];
    CHECK(d->from == 0 && d->to == 1 && d->n == 4 && d->half_width_ns == 47 && !d->text);
    CHECK_NEAR(d->first, 3, 1e-9);
    CHECK_NEAR(d->last, 900.75, 1e-9);
    CHECK(d->first_ns == 5000000000);
    begin(2, 4); /* neither client nor reference of a pair of others */
    world.over_at = 3;
    CHECK(typed_run(&command_drift, "--reference-rank=1 --duration=9s") == EXIT_OK);
    CHECK(world.measured == 2 && world.pairs[0][0] == 2 && world.pairs[0][1] == 1);
    CHECK(world.sends == 4);
    begin(1, 4);
    world.over_at = 2;
    CHECK(typed_run(&command_drift, "--reference-rank=1 --duration=9s") == EXIT_OK);
    CHECK(world.measured == 3 && world.pairs[0][0] == 0 && world.pairs[1][0] == 2 &&
          world.pairs[2][0] == 3 && world.sends == 0);
}

/* More processes than fit on a screen are not drawn; no interval means without a pause. */
static void drift_fits_the_screen(void)
{
    begin(0, 4);
    CHECK(typed_run(&command_drift, "--duration=1s") == EXIT_OK && world.said[0].text);
    begin(0, 5);
    CHECK(typed_run(&command_drift, "--duration=1s") == EXIT_OK && !world.said[0].text);
    CHECK(world.said_count == 4 && world.measured == 12); /* at 0, 0.5 and 1 s */
    begin(0, 2);
    world.cost_s = 0.01;
    CHECK(typed_run(&command_drift, "--duration=2s --interval=0") == EXIT_OK);
    CHECK(world.measured >= 200 && world.measured <= 202);
    begin(0, 2);
    world.cost_s = 0.5; /* more than the interval: what is planned comes late, and is cut short */
    CHECK(typed_run(&command_drift, "--duration=2s --interval=250ms") == EXIT_OK);
    CHECK(world.measured == 5);
}

static void drift_tells_what_fails(void)
{
    begin(1, 2);
    world.measure_err = ICTUS_ERR_CLOCK;
    world.fails_at = 3;
    CHECK(typed_run(&command_drift, "--duration=9s --clock=tsc") == EXIT_FAILED &&
          world.measured == 4);
    CHECK(world.failed == ICTUS_ERR_CLOCK && strstr(world.why, "'tsc' ran backwards"));
    CHECK(world.sends == 0 && world.closed == 1 && world.freed == 1 && world.hidden == 1);
    begin(0, 3); /* the other client is still answered, which waits for it */
    world.measure_err = ICTUS_ERR_MPI;
    CHECK(typed_run(&command_drift, "--duration=9s") == EXIT_FAILED && world.measured == 2);
    CHECK(world.failed == ICTUS_ERR_MPI && world.said_count == 0);
    begin(0, 2);
    world.describe_err = ICTUS_ERR_SAMPLES;
    CHECK(typed_run(&command_drift, "--duration=1s") == EXIT_FAILED);
    CHECK(strstr(world.why, "too short to fit a line: 3 points") != NULL);
    begin(0, 2);
    world.agreed = 0; /* another process has no memory */
    CHECK(typed_run(&command_drift, "--duration=1s") == EXIT_FAILED &&
          world.failed == ICTUS_ERR_NOMEM);
    CHECK(world.measured == 0);
    begin(0, 2);
    world.create_err = ICTUS_ERR_SPEC;
    CHECK(typed_run(&command_drift, "--clock=none") == EXIT_USAGE && world.opened == 0 &&
          world.closed == 0);
    CHECK(world.freed == 0);
    begin(0, 2);
    world.results_err = ICTUS_ERR_IO;
    CHECK(typed_run(&command_drift, "") == EXIT_FAILED && world.measured == 0 && world.freed == 1);
    CHECK(world.closed == 0);
}

/* What has been measured is described all the same. */
static void drift_can_be_interrupted(void)
{
    begin(0, 2);
    world.interrupt_at = 3;
    CHECK(typed_run(&command_drift, "--duration=9s") == EXIT_INTERRUPTED);
    CHECK(world.measured == 3 && world.said_count == 1 && world.failed == 0);
}

static void refused(const struct command *command, int size, const char *typed, const char *part)
{
    begin(0, size);
    CHECK(typed_run(command, typed) == EXIT_USAGE && world.opened == 0 && world.measured == 0);
    CHECK(strstr(world.why, part) != NULL);
}

static void drift_refuses_what_cannot_be(void)
{
    refused(&command_drift, 2, "word", "unexpected argument 'word'");
    refused(&command_drift, 1, "", "at least two processes");
    refused(&command_drift, 2, "--reference-rank=2", "between 0 and 1");
    refused(&command_drift, 2, "--duration=1s --interval=1.5s", "--interval must not be longer");
    refused(&command_drift, 2, "--duration=5s --fit=5s", "--fit must be shorter");
    begin(0, 2); /* the usual --fit is longer than that, but nobody asked for it */
    CHECK(typed_run(&command_drift, "--duration=1s --interval=1s --reference-rank=1") == EXIT_OK);
    begin(0, 2);
    CHECK(typed_run(&command_drift, "--duration=5s --fit=4.9s") == EXIT_OK);
}

/* Which pairs, in which order, whoever takes part. */
static void pairs_are(int size, const char *typed, const char *wanted)
{
    char got[TEXT] = "";
    begin(0, size);
    CHECK(typed_run(&command_rtt, typed) == EXIT_OK);
    for (int i = 0; i < world.said_count; i++) {
        const size_t length = strlen(got);
        (void)snprintf(got + length, sizeof got - length, " %d-%d", world.said[i].from,
                       world.said[i].to);
    }
    CHECK_STR(got, wanted);
    CHECK(world.total == world.said_count && world.met == 2 * world.said_count);
}

static void pairs_are_read(void)
{
    pairs_are(4, "--exchanges=10", " 0-1 0-2 0-3");
    pairs_are(4, "--exchanges=10 --pairs=neighbours", " 0-1 1-2 2-3");
    pairs_are(4, "--exchanges=10 --pairs=all", " 0-1 0-2 0-3 1-2 1-3 2-3");
    pairs_are(4, "--exchanges=10 --pairs=3-0,1-2,3-0", " 3-0 1-2 3-0");
    pairs_are(2, "--exchanges=10 --pairs=from0", " 0-1");
    refused(&command_rtt, 1, "", "at least two processes");
    refused(&command_rtt, 3, "word", "unexpected argument 'word'");
    static const char *const bad[] = {"0-0", "0-3", "3-0", "0", "0-", "-1", "0-1,", "1-x", "0:1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char typed[64];
        (void)snprintf(typed, sizeof typed, "--pairs=%s", bad[i]);
        refused(&command_rtt, 3, typed, "is not a pair of two different ranks below 3");
    }
}

/* Slices of ten thousand: those of the warm-up overwrite each other, the others follow each other.
 */
static void exchanges_come_in_slices(void)
{
    static const size_t counts[] = {10000, 2000, 10000, 10000, 5000};
    begin(0, 2);
    CHECK(typed_run(&command_rtt, "--exchanges=25000 --warmup=12000 --raw --bins=77") == EXIT_OK);
    REQUIRE(world.measured == 5);
    for (int k = 0; k < 5; k++) {
        CHECK(world.counts[k] == counts[k]);
        CHECK(world.places[k] - world.places[0] == (k < 3 ? 0 : 10000 * (k - 2)));
        CHECK(world.pairs[k][0] == 0 && world.pairs[k][1] == 1);
    }
    const struct described *d = &world.said[0];
    CHECK(d->n == 25000 && d->first == 2000 && d->last == 4000 + 4999);
    CHECK(d->bins == 77 && d->raw && d->text);
    /* Before the pair, and within it; a warm-up does not count as progress. */
    CHECK(world.steps == 4 && world.step_done[0] == 0 && world.step_done[1] == 0);
    CHECK_NEAR(world.step_done[2], 0.4, 1e-12);
    CHECK_NEAR(world.step_done[3], 0.8, 1e-12);
}

/* One slice; up to three pairs are drawn. */
static void round_trips_fit_the_screen(void)
{
    begin(0, 2);
    CHECK(typed_run(&command_rtt, "--exchanges=10000 --warmup=0 --format=csv") == EXIT_OK);
    CHECK(world.measured == 1 && world.steps == 1 && !world.said[0].text && !world.said[0].raw);
    begin(0, 4);
    CHECK(typed_run(&command_rtt, "--exchanges=10 --warmup=0") == EXIT_OK && world.said[0].text);
    CHECK(world.step_done[1] == 1 && world.step_done[2] == 2);
    begin(0, 5);
    CHECK(typed_run(&command_rtt, "--exchanges=10 --warmup=0") == EXIT_OK && !world.said[0].text);
}

/* Round trips of other ranks go to rank 0; nobody else describes any. */
static void round_trips_go_to_rank_0(void)
{
    begin(0, 3);
    CHECK(typed_run(&command_rtt, "--exchanges=10 --warmup=0 --pairs=1-2,2-0") == EXIT_OK);
    CHECK(world.receives == 2 && world.said_count == 2 && world.said[0].n == 10);
    CHECK(world.said[0].last == 90 && world.said[1].last == 180); /* what was received */
    begin(2, 3);
    CHECK(typed_run(&command_rtt, "--exchanges=10 --warmup=0 --pairs=1-2,2-0,0-2,2-1") == EXIT_OK);
    CHECK(world.sends == 2 && world.said_count == 0 && world.sent_counts[0] == 10);
    CHECK(world.sent_first == 3000 && world.sent_last == 3009);
    begin(0, 2);
    CHECK(typed_run(&command_rtt, "--exchanges=10 --warmup=0 --pairs=0-1") == EXIT_OK);
    CHECK(world.receives == 0 && world.sends == 0);
}

/* After an error the exchanges go on, since the other one waits for them; the next pair does not.
 */
static void rtt_tells_what_fails(void)
{
    begin(0, 3);
    world.measure_err = ICTUS_ERR_CLOCK;
    CHECK(typed_run(&command_rtt, "--exchanges=20000 --warmup=10 --clock=tsc") == EXIT_FAILED);
    CHECK(world.measured == 3 && world.said_count == 0 && world.closed == 1 && world.freed == 1);
    CHECK(world.failed == ICTUS_ERR_CLOCK && strstr(world.why, "'tsc' ran backwards"));
    begin(0, 3);
    world.measure_err = ICTUS_ERR_MPI;
    world.fails_at = 1;
    CHECK(typed_run(&command_rtt, "--exchanges=20000 --warmup=0") == EXIT_FAILED &&
          world.measured == 2);
    CHECK(world.failed == ICTUS_ERR_MPI);
    begin(0, 3);
    world.describe_err = ICTUS_ERR_IO;
    CHECK(typed_run(&command_rtt, "--exchanges=10 --warmup=0") == EXIT_FAILED &&
          world.measured == 1);
    begin(1, 2);
    world.agreed = 0;
    CHECK(typed_run(&command_rtt, "--exchanges=10") == EXIT_FAILED &&
          world.failed == ICTUS_ERR_NOMEM);
    CHECK(world.measured == 0);
    begin(1, 2);
    world.agreed = ICTUS_ERR_CLOCK; /* rank 0's */
    CHECK(typed_run(&command_rtt, "--exchanges=10") == EXIT_FAILED);
    begin(0, 4);
    world.interrupt_at = 2;
    CHECK(typed_run(&command_rtt, "--exchanges=10 --warmup=0") == EXIT_INTERRUPTED);
    CHECK(world.measured == 2 && world.said_count == 2 && world.failed == 0 && world.closed == 1);
}

int main(void)
{
    clients_send_their_series();
    references_answer_everybody();
    rank_0_may_be_a_client();
    drift_fits_the_screen();
    drift_tells_what_fails();
    drift_can_be_interrupted();
    drift_refuses_what_cannot_be();
    pairs_are_read();
    exchanges_come_in_slices();
    round_trips_fit_the_screen();
    round_trips_go_to_rank_0();
    rtt_tells_what_fails();
    return check_result();
}
