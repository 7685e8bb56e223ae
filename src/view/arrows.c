/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages are matched like those of ictus check: in the order in which receives were posted. If
 * there are many, every k-th message of each sender is taken, and of those that arrive before they
 * were sent, every k'-th. So any part of the run shows its share of both.
 */
#include "view/arrows.h"

#include <ictus/error.h>
#include <math.h>

static const uint64_t most_arrows = 20000;
static const uint64_t most_backward = 5000;

int64_t ictusi_arrows_picture_ns(const struct picture_clock *clock, int64_t stamp)
{
    /*
     * The difference is taken between integers. As a double it is exact up to 2^53 ticks, while a
     * stamp in ns since 1970 would be rounded to a multiple of 256.
     */
    const double ticks = (double)(stamp - clock->origin);
    return (int64_t)llround(ticks * 1e9 / (double)clock->trace->layout.resolution);
}

/*
 * Points link a send with its receive, and a member of a collective with a virtual node; only the
 * former is an arrow. Cancelled sends, and those whose receive was not recorded, have no end.
 */
uint32_t ictusi_arrow_end(const struct points *points, uint64_t i)
{
    const uint8_t kind = points->kind[i];
    const bool sends = (kind & POINT_CLASS) == POINT_P2P && (kind & POINT_OUT);
    const uint32_t end = points->link[i];
    return sends && !(kind & POINT_CANCELLED) && end < NODE_VIRTUAL && end < points->count
               ? end
               : NODE_NONE;
}

/* 0: on time; 1: the message arrives before it was sent. */
static int arrow_class(const struct points *points, uint64_t send, uint32_t receive)
{
    return points->value[receive] < points->value[send];
}

/*
 * Append [track of the send, ns, track of the receive, ns, -1]. Plain numbers are used because
 * member names would take up most of the file.
 */
static void arrow_put(const struct session *s, const struct picture_clock *clock, uint32_t track,
                      uint64_t send, uint32_t receive, json_t *list)
{
    const struct points *points = &s->history.points;
    const json_int_t to = (json_int_t)ictusi_match_location(&s->history.matching, receive);
    const json_int_t values[5] = {track, ictusi_arrows_picture_ns(clock, points->value[send]), to,
                                  ictusi_arrows_picture_ns(clock, points->value[receive]), -1};
    for (int i = 0; i < 5; i++) {
        (void)json_array_append_new(list, json_integer(values[i]));
    }
}

int ictusi_arrows_json(const struct session *s, const struct picture_clock *clock, json_t *object)
{
    const struct points *points = &s->history.points;
    uint64_t counts[2] = {0, 0};
    json_t *list = json_array();
    for (uint64_t i = 0; i < points->count; i++) {
        const uint32_t end = ictusi_arrow_end(points, i);
        if (end != NODE_NONE) {
            counts[arrow_class(points, i, end)]++;
        }
    }
    /*
     * k = count / most + 1 is the smallest step that leaves about `most` arrows. The two classes
     * have separate steps, because backward messages are few and are the ones of interest.
     */
    const uint64_t every[2] = {counts[0] / most_arrows + 1, counts[1] / most_backward + 1};
    for (uint32_t l = 0; l < s->trace->layout.location_count && list; l++) {
        uint64_t seen[2] = {0, 0};
        for (uint64_t i = s->history.first[l]; i < s->history.first[l + 1]; i++) {
            const uint32_t end = ictusi_arrow_end(points, i);
            const int class = end == NODE_NONE ? 0 : arrow_class(points, i, end);
            if (end != NODE_NONE && seen[class]++ % every[class] == 0) {
                arrow_put(s, clock, l, i, end, list);
            }
        }
    }
    const uint64_t all = counts[0] + counts[1];
    const bool done =
        list && json_object_set_new(object, "messages", list) == 0 &&
        json_object_set_new(object, "message_count", json_integer((json_int_t)all)) == 0 &&
        json_object_set_new(object, "backward_count", json_integer((json_int_t)counts[1])) == 0;
    return done ? ICTUS_OK : ICTUS_ERR_NOMEM;
}
