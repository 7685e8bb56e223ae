/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Result files that are opened and closed without being written, for commands that run as one rank.
 * Included after the test's `world`, which counts them in `opened` and `closed`, and `output_here`.
 */
#ifndef ICTUS_TESTS_RESULTS_STUB_H
#define ICTUS_TESTS_RESULTS_STUB_H

const char *const results_formats[] = {"text", "csv", "json", NULL};

int results_open(const struct results_options *options, const struct ictus_column *columns,
                 json_t *header, struct ictus_output **out, struct ictus_why *why)
{
    (void)why;
    CHECK(options && columns[0].key && !header);
    world.opened++;
    *out = output_here;
    return ICTUS_OK;
}

int results_agree(int err, struct ictus_why *why)
{
    (void)why;
    return err;
}

int results_close(struct ictus_output *out, const char *path, int before, struct ictus_why *why)
{
    (void)path;
    (void)why;
    CHECK(out == output_here);
    world.closed++;
    return before;
}

#endif
