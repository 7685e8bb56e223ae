/* SPDX-License-Identifier: BSD-3-Clause */
/* Describing round trips. */
#include "clocks/rtt_describe.h"

#include "main/values.h"

#include <ictus/study.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_BINS = 16, /* of the histogram that a terminal shows */
    BAR_MAX = 50
};
/* The histogram is even up to this quantile; one bin more holds the tail. */
#define BODY 0.99

static const size_t steps[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000};
enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

/* Type 7 of Hyndman and Fan 1996. */
static double rtt_quantile(const double *sorted, size_t n, double q)
{
    const double at = q * (double)(n - 1);
    const size_t low = (size_t)at;
    return low + 1 < n ? sorted[low] + (at - (double)low) * (sorted[low + 1] - sorted[low])
                       : sorted[n - 1];
}

struct histogram {
    double *edges;  /* bins + 1 */
    size_t *counts; /* bins */
    size_t bins;
};

/* Even bins from the smallest value to the BODY quantile, and one for the rest. */
static int histogram_fill(struct histogram *h, const double *sorted, size_t n, size_t bins)
{
    const double low = sorted[0];
    double high = rtt_quantile(sorted, n, BODY);
    high = high > low ? high : low + 1.0;
    h->bins = bins;
    h->edges = calloc(bins + 1, sizeof(*h->edges));
    h->counts = calloc(bins, sizeof(*h->counts));
    if (!h->edges || !h->counts) {
        return ICTUS_ERR_NOMEM;
    }
    for (size_t i = 0; i < bins; i++) {
        h->edges[i] = low + (high - low) * (double)i / (double)(bins - 1);
    }
    h->edges[bins] = sorted[n - 1] > high ? sorted[n - 1] : high + (high - low) / (double)bins;
    size_t bin = 0;
    for (size_t i = 0; i < n; i++) {
        while (bin + 1 < bins && sorted[i] >= h->edges[bin + 1]) {
            bin++;
        }
        h->counts[bin]++;
    }
    return ICTUS_OK;
}

static void histogram_fini(struct histogram *h)
{
    free(h->edges);
    free(h->counts);
}

static json_t *histogram_json(const struct histogram *h)
{
    json_t *edges = json_array();
    json_t *counts = json_array();
    for (size_t i = 0; i <= h->bins; i++) {
        json_array_append_new(edges, ictus_result_real(h->edges[i] * 1e-9));
    }
    for (size_t i = 0; i < h->bins; i++) {
        json_array_append_new(counts, json_integer((json_int_t)h->counts[i]));
    }
    return json_pack("{s:o, s:o}", "edges_s", edges, "counts", counts);
}

/* What the minimum of a fixed number of exchanges is worth. */
static json_t *quality_json(const double *sorted, size_t n, double mean_ns)
{
    json_t *list = json_array();
    for (size_t i = 0; i < STEPS && steps[i] <= n; i++) {
        double error = 0.0;
        (void)ictus_minimum_excess(sorted, n, steps[i], &error);
        json_array_append_new(list, json_pack("{s:I, s:f, s:o, s:f}", "exchanges",
                                              (json_int_t)steps[i], "error_s", error * 1e-9,
                                              "error_rel", ictus_result_real(error / sorted[0]),
                                              "cost_s", (double)steps[i] * mean_ns * 1e-9));
    }
    return list;
}

/* H08 figure 6: go on until the minimum has not fallen for N exchanges. */
static json_t *patience_json(const double *sorted, size_t n, double mean_ns)
{
    json_t *list = json_array();
    for (size_t i = 0; i < STEPS && steps[i] <= n; i++) {
        double error = 0.0;
        double exchanges = 0.0;
        (void)ictus_patience(sorted, n, steps[i], &exchanges, &error);
        json_array_append_new(list, json_pack("{s:I, s:f, s:f, s:o, s:f}", "patience",
                                              (json_int_t)steps[i], "mean_exchanges", exchanges,
                                              "error_s", error * 1e-9, "error_rel",
                                              ictus_result_real(error / sorted[0]), "cost_s",
                                              exchanges * mean_ns * 1e-9));
    }
    return list;
}

static void rtt_describe_draw_histogram(const double *sorted, size_t n)
{
    struct histogram h = {NULL, NULL, 0};
    size_t most = 1;
    if (histogram_fill(&h, sorted, n, TEXT_BINS)) {
        histogram_fini(&h);
        return;
    }
    for (size_t i = 0; i < h.bins; i++) {
        most = h.counts[i] > most ? h.counts[i] : most;
    }
    printf("#\n#   round trip us    share\n");
    for (size_t i = 0; i < h.bins; i++) {
        const int bar = (int)(h.counts[i] * BAR_MAX / most);
        printf("#  %s %10.3f  %6.2f %%%s%.*s\n", i + 1 == h.bins ? ">=" : "  ", h.edges[i] * 1e-3,
               100.0 * (double)h.counts[i] / (double)n, bar > 0 ? "  " : "", bar,
               "##################################################");
    }
    histogram_fini(&h);
}

static void rtt_describe_draw_costs(const double *sorted, size_t n)
{
    printf("#\n#    N   minimum of N      until N in a row did not improve (H08)\n"
           "#        above best us    above best us       %%   exchanges\n");
    for (size_t i = 0; i < STEPS && steps[i] <= n; i++) {
        double fixed = 0.0;
        double error = 0.0;
        double exchanges = 0.0;
        (void)ictus_minimum_excess(sorted, n, steps[i], &fixed);
        (void)ictus_patience(sorted, n, steps[i], &exchanges, &error);
        printf("# %4zu %15.3f  %15.3f %7.2f %11.1f\n", steps[i], fixed * 1e-3, error * 1e-3,
               100.0 * error / sorted[0], exchanges);
    }
    printf("#\n");
}

int rtt_describe(struct ictus_output *out, const struct rtt_picture *picture, int from, int to,
                 double *rtt_ns, size_t n)
{
    struct histogram h = {NULL, NULL, 0};
    double sum = 0.0;
    json_t *raw = picture->raw ? json_array() : NULL;
    for (size_t i = 0; i < n; i++) {
        sum += rtt_ns[i];
        json_array_append_new(raw, picture->raw ? json_real(rtt_ns[i] * 1e-9) : NULL);
    }
    values_sort(rtt_ns, n);
    int err = histogram_fill(&h, rtt_ns, n, picture->bins);
    if (err) {
        json_decref(raw);
        histogram_fini(&h);
        return err;
    }
    const double mean_ns = sum / (double)n;
    json_t *object =
        json_pack("{s:s, s:o, s:i, s:i, s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "type", "rtt", "clock",
                  ictus_result_text(picture->clock), "from", from, "to", to, "n", (json_int_t)n,
                  "min_s", rtt_ns[0] * 1e-9, "median_s", rtt_quantile(rtt_ns, n, 0.5) * 1e-9,
                  "mean_s", mean_ns * 1e-9, "p90_s", rtt_quantile(rtt_ns, n, 0.9) * 1e-9, "p99_s",
                  rtt_quantile(rtt_ns, n, 0.99) * 1e-9, "max_s", rtt_ns[n - 1] * 1e-9);
    json_object_set_new(object, "histogram", histogram_json(&h));
    json_object_set_new(object, "quality", quality_json(rtt_ns, n, mean_ns));
    json_object_set_new(object, "patience", patience_json(rtt_ns, n, mean_ns));
    if (raw) {
        json_object_set_new(object, "raw_s", raw);
    }
    err = ictus_output_put(out, object);
    if (picture->text) {
        rtt_describe_draw_histogram(rtt_ns, n);
        rtt_describe_draw_costs(rtt_ns, n);
        (void)fflush(stdout);
    }
    histogram_fini(&h);
    return err;
}
