/* SPDX-License-Identifier: BSD-3-Clause */
/* Describing drift. */
#include "clocks/drift_describe.h"

#include <ictus/study.h>
#include <math.h>
#include <stdio.h>

#define PPM_TO_NS_PER_S 1e3

/* 1, 2, 5, 10, 20, 50, ... */
static double drift_describe_next_window(double window_s)
{
    const double decade = pow(10.0, floor(log10(window_s) + 1e-9));
    const double lead = window_s / decade;
    return lead < 1.5 ? 2.0 * decade : lead < 3.0 ? 5.0 * decade : 10.0 * decade;
}

/* How many points lie within a window that starts with the first one. */
static size_t points_within(const struct drift_points *p, double window_s)
{
    size_t n = 0;
    while (n < p->count && p->times_s[n] <= window_s) {
        n++;
    }
    return n;
}

struct window {
    double window_s;
    struct ictus_straight line;
};

/* The next window that holds new points; false at the end. n and window_s go on from the last one.
 */
static bool window_grow(const struct drift_points *p, double *window_s, size_t *n,
                        struct window *window)
{
    while (*n < p->count) {
        const size_t inside = points_within(p, *window_s);
        window->window_s = inside == p->count ? p->times_s[p->count - 1] : *window_s;
        *window_s = drift_describe_next_window(*window_s);
        const bool news = inside > *n && inside > 2;
        /* Two points are too few for a window, but they may be all there is. */
        *n = news || inside == p->count ? inside : *n;
        if (news) {
            if (ictus_straight_fit(p->times_s, p->offsets_ns, inside, &window->line) == ICTUS_OK) {
                return true;
            }
        }
    }
    return false;
}

/* The smallest window worth a look: of 1, 2, 5, ... the one that could hold three points. */
static double drift_describe_first_window(const struct drift_points *p)
{
    double window_s = 1e-3;
    while (p->count > 2 && window_s < p->times_s[2]) {
        window_s = drift_describe_next_window(window_s);
    }
    return window_s;
}

static json_t *windows_json(const struct drift_points *p)
{
    json_t *list = json_array();
    double window_s = drift_describe_first_window(p);
    size_t n = 0;
    struct window w;
    while (window_grow(p, &window_s, &n, &w)) {
        json_array_append_new(
            list, json_pack("{s:f, s:I, s:o, s:f, s:f}", "window_s", w.window_s, "points",
                            (json_int_t)n, "r2", ictus_result_real(w.line.r2), "slope_ppm",
                            w.line.slope_ppm, "max_residual_ns", w.line.max_residual_ns));
    }
    return list;
}

static void drift_describe_draw_windows(const struct drift_points *p)
{
    double window_s = drift_describe_first_window(p);
    size_t n = 0;
    struct window w;
    printf("#\n#  first s   points       slope ppm       R2    largest residual us\n");
    while (window_grow(p, &window_s, &n, &w)) {
        printf("# %8.4g %8zu %15.6f %8.5f %22.3f\n", w.window_s, n, w.line.slope_ppm, w.line.r2,
               w.line.max_residual_ns * 1e-3);
    }
    printf("#\n");
    (void)fflush(stdout);
}

static json_t *json_numbers(const double *values, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, ictus_result_real(values[i]));
    }
    return list;
}

static json_t *json_residuals(const struct drift_points *p, const struct ictus_straight *line)
{
    json_t *list = json_array();
    for (size_t i = 0; i < p->count; i++) {
        json_array_append_new(list,
                              ictus_result_real(p->offsets_ns[i] - line->intercept_ns -
                                                line->slope_ppm * PPM_TO_NS_PER_S * p->times_s[i]));
    }
    return list;
}

static void drift_describe_add_holding(json_t *object, const struct drift_picture *picture,
                                       const struct drift_points *p)
{
    struct ictus_holding h;
    json_object_set_new(object, "tolerance_ns", ictus_result_real(picture->tolerance_ns));
    json_object_set_new(object, "fit_s", ictus_result_real(picture->fit_s));
    if (ictus_straight_holding(p->times_s, p->offsets_ns, p->count, picture->fit_s,
                               picture->tolerance_ns, &h)) {
        json_object_set_new(object, "holds_s", json_null());
        json_object_set_new(object, "holds", json_string("too little data"));
        return;
    }
    char text[64];
    (void)snprintf(text, sizeof(text), "%s%.4g s", h.median_known ? "" : "over ", h.median_s);
    json_object_set_new(object, "holds_s", ictus_result_real(h.median_s));
    json_object_set_new(object, "holds_known", json_boolean(h.median_known));
    json_object_set_new(object, "holds_least_s", ictus_result_real(h.least_s));
    json_object_set_new(object, "lines", json_integer((json_int_t)h.lines));
    json_object_set_new(object, "holds", json_string(text));
}

int drift_describe(struct ictus_output *out, const struct drift_picture *picture,
                   const struct drift_points *points)
{
    struct ictus_straight line;
    const int err = ictus_straight_fit(points->times_s, points->offsets_ns, points->count, &line);
    if (err) {
        return err;
    }
    json_t *object =
        json_pack("{s:s, s:o, s:i, s:i, s:I, s:f, s:I, s:f, s:o, s:f, s:f}", "type", "drift",
                  "clock", ictus_result_text(picture->clock), "rank", picture->rank, "reference",
                  picture->reference, "points", (json_int_t)points->count, "duration_s",
                  points->times_s[points->count - 1], "offset_ns", (json_int_t)points->first_ns,
                  "slope_ppm", line.slope_ppm, "r2", ictus_result_real(line.r2), "max_residual_ns",
                  line.max_residual_ns, "judgement_ns", points->half_width_ns);
    drift_describe_add_holding(object, picture, points);
    json_object_set_new(object, "windows", windows_json(points));
    json_object_set_new(object, "times_s", json_numbers(points->times_s, points->count));
    json_object_set_new(object, "offsets_ns", json_numbers(points->offsets_ns, points->count));
    json_object_set_new(object, "residuals_ns", json_residuals(points, &line));
    const int put = ictus_output_put(out, object);
    if (picture->text) {
        drift_describe_draw_windows(points);
    }
    return put;
}
