/* SPDX-License-Identifier: BSD-3-Clause */
/* Trace Event JSON read into tracks, slices and messages. */
#include "results/timeline.h"

#include <ictus/result.h>
#include <ictus/text.h>

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

static const size_t most_arrows = 20000;
static const size_t most_backward = 5000;

struct slice {
    int64_t start, duration; /* ns */
    uint32_t name, track;
    uint32_t depth;
};

struct track {
    char *name;
    int64_t process;
    size_t open[DEPTH_MAX]; /* places of slices that have begun */
    uint32_t depth;
};

struct message {
    uint32_t from, to;
    int64_t sent, received, bytes;
    bool whole; /* whether its receive was seen */
};

struct timeline {
    json_t *track_index, *name_index, *message_index, *process_names; /* text -> place, text */
    struct track *tracks;
    struct slice *slices;
    struct message *messages;
    size_t track_count, slice_count, message_count, event_count;
};

/* Room for one more: arrays grow at the powers of two. */
static void *timeline_grown(void *array, size_t count, size_t size)
{
    if (count > 0 && (count & (count - 1)) != 0) {
        return array;
    }
    return realloc(array, (count > 0 ? 2 * count : 1) * size);
}

/* The place of a text in an index, a new one at the end if it is not there; -1: out of memory. */
static json_int_t timeline_place_of(json_t *index, const char *text)
{
    const json_t *known = json_object_get(index, text);
    const json_int_t place = (json_int_t)json_object_size(index);
    if (known) {
        return json_integer_value(known);
    }
    return json_object_set_new(index, text, json_integer(place)) ? -1 : place;
}

/* Held within a quarter of the range, 73 years, so that ends and differences of times still fit. */
static int64_t timeline_to_ns(const json_t *value)
{
    static const double most = (double)(INT64_MAX / 4);
    const double ns = json_number_value(value) * 1e3;
    return (int64_t)llround(ns > most ? most : ns < -most ? -most : ns);
}

/* "pid/tid": processes may be numbers or texts. */
static void track_key(const json_t *event, char *key, size_t size)
{
    const json_t *ids[2] = {json_object_get(event, "pid"), json_object_get(event, "tid")};
    size_t used = 0;
    for (int i = 0; i < 2 && used < size; i++) {
        const char *text = json_string_value(ids[i]);
        const int wrote = text ? snprintf(key + used, size - used, "%s/", text)
                               : snprintf(key + used, size - used, "%lld/",
                                          (long long)json_integer_value(ids[i]));
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

static struct track *track_of(struct timeline *timeline, const json_t *event)
{
    char key[128];
    track_key(event, key, sizeof(key));
    const json_int_t place = timeline_place_of(timeline->track_index, key);
    if (place < 0) {
        return NULL;
    }
    if ((size_t)place == timeline->track_count) {
        struct track *tracks =
            timeline_grown(timeline->tracks, timeline->track_count, sizeof(*timeline->tracks));
        if (!tracks) {
            return NULL;
        }
        timeline->tracks = tracks;
        tracks[place] =
            (struct track){.process = json_integer_value(json_object_get(event, "pid"))};
        timeline->track_count++;
    }
    return &timeline->tracks[place];
}

static int timeline_begin_slice(struct timeline *timeline, struct track *track, const json_t *event,
                                int64_t duration)
{
    const char *name = json_string_value(json_object_get(event, "name"));
    const json_int_t named = timeline_place_of(timeline->name_index, name ? name : "?");
    if (named < 0) { /* found before the array grows, so that this leaves it whole */
        return ICTUS_ERR_NOMEM;
    }
    struct slice *slices = timeline_grown(timeline->slices, timeline->slice_count, sizeof(*slices));
    if (!slices) {
        return ICTUS_ERR_NOMEM;
    }
    timeline->slices = slices;
    slices[timeline->slice_count] =
        (struct slice){timeline_to_ns(json_object_get(event, "ts")), duration, (uint32_t)named,
                       (uint32_t)(track - timeline->tracks), track->depth};
    if (duration < 0) { /* the slice lasts until its end is read */
        if (track->depth < DEPTH_MAX) {
            track->open[track->depth] = timeline->slice_count;
        }
        track->depth++;
    }
    timeline->slice_count++;
    return ICTUS_OK;
}

static void timeline_end_slice(struct timeline *timeline, struct track *track, const json_t *event)
{
    if (track->depth == 0) {
        return;
    }
    track->depth--;
    if (track->depth < DEPTH_MAX) {
        struct slice *slice = &timeline->slices[track->open[track->depth]];
        slice->duration = timeline_to_ns(json_object_get(event, "ts")) - slice->start;
    }
}

/* One end of a message. Clocks may be wrong, so that either end comes first. */
static int timeline_take_flow(struct timeline *timeline, const struct track *track,
                              const json_t *event, bool send)
{
    char key[128];
    const json_t *id = json_object_get(event, "id");
    const char *text = json_string_value(id);
    (void)snprintf(key, sizeof(key), "%s%lld", text ? text : "", (long long)json_integer_value(id));
    const json_int_t place = timeline_place_of(timeline->message_index, key);
    if (place >= 0 && (size_t)place == timeline->message_count) {
        struct message *messages =
            timeline_grown(timeline->messages, timeline->message_count, sizeof(*messages));
        if (!messages) {
            return ICTUS_ERR_NOMEM;
        }
        timeline->messages = messages;
        messages[timeline->message_count++] = (struct message){.bytes = -1};
    } else if (place >= 0 && timeline->messages) {
        timeline->messages[place].whole = true;
    } else {
        return ICTUS_ERR_NOMEM;
    }
    struct message *message = &timeline->messages[place];
    const json_t *bytes = json_object_get(json_object_get(event, "args"), "bytes");
    const uint32_t at = (uint32_t)(track - timeline->tracks);
    message->bytes = bytes ? json_integer_value(bytes) : message->bytes;
    if (send) {
        message->from = at;
        message->sent = timeline_to_ns(json_object_get(event, "ts"));
    } else {
        message->to = at;
        message->received = timeline_to_ns(json_object_get(event, "ts"));
    }
    return ICTUS_OK;
}

static int timeline_take_name(struct timeline *timeline, const json_t *event)
{
    const char *what = json_string_value(json_object_get(event, "name"));
    const char *name = json_string_value(json_object_get(json_object_get(event, "args"), "name"));
    if (what && name && strcmp(what, "thread_name") == 0) {
        struct track *track = track_of(timeline, event);
        if (!track) {
            return ICTUS_ERR_NOMEM;
        }
        char *copy = strdup(name);
        if (!copy) {
            return ICTUS_ERR_NOMEM;
        }
        free(track->name);
        track->name = copy;
    } else if (what && name && strcmp(what, "process_name") == 0) {
        char key[32];
        (void)snprintf(key, sizeof(key), "%lld",
                       (long long)json_integer_value(json_object_get(event, "pid")));
        (void)json_object_set_new(timeline->process_names, key, json_string(name));
    }
    return ICTUS_OK;
}

static int timeline_take_event(struct timeline *timeline, const json_t *event)
{
    const char *phase = json_string_value(json_object_get(event, "ph"));
    if (!phase) {
        return ICTUS_OK;
    }
    timeline->event_count++;
    if (phase[0] == 'M') {
        return timeline_take_name(timeline, event);
    }
    if (!strchr("BEXsf", phase[0])) {
        return ICTUS_OK;
    }
    struct track *track = track_of(timeline, event);
    if (!track) {
        return ICTUS_ERR_NOMEM;
    }
    switch (phase[0]) {
    case 'B':
        return timeline_begin_slice(timeline, track, event, -1);
    case 'X':
        return timeline_begin_slice(timeline, track, event,
                                    timeline_to_ns(json_object_get(event, "dur")));
    case 'E':
        timeline_end_slice(timeline, track, event);
        return ICTUS_OK;
    default:
        /* The analyzer loses sight of the array that track_of() has kept: it takes it for leaked.
         */
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        return timeline_take_flow(timeline, track, event, phase[0] == 's');
    }
}

/* Most writers put one event a line: then no more than a line is ever in memory as JSON. */
static int timeline_read_lines(struct timeline *timeline, FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length = 0;
    int err = ICTUS_OK;
    while (!err && (length = getline(&line, &room, file)) >= 0) {
        while (length > 0 && strchr(" \t\r\n,", line[length - 1])) {
            length--;
        }
        json_t *event =
            length > 2 && line[0] == '{' ? json_loadb(line, (size_t)length, 0, NULL) : NULL;
        err = timeline_take_event(timeline, event);
        json_decref(event);
    }
    free(line);
    return err;
}

static int timeline_read_whole(struct timeline *timeline, FILE *file)
{
    size_t i = 0;
    json_t *event = NULL;
    int err = ICTUS_OK;
    rewind(file);
    json_t *root = json_loadf(file, 0, NULL);
    json_t *events = json_is_array(root) ? root : json_object_get(root, "traceEvents");
    json_array_foreach(events, i, event)
    {
        err = err ? err : timeline_take_event(timeline, event);
    }
    json_decref(root);
    return err;
}

static int timeline_compare_ns(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The duration below which slices are left out, so that at most so many stay. */
static int64_t timeline_find_threshold(const struct timeline *timeline, size_t most)
{
    int64_t threshold = 0;
    if (timeline->slice_count <= most) {
        return 0;
    }
    int64_t *durations = malloc(timeline->slice_count * sizeof(*durations));
    if (durations) {
        for (size_t i = 0; i < timeline->slice_count; i++) {
            durations[i] = timeline->slices[i].duration;
        }
        qsort(durations, timeline->slice_count, sizeof(*durations), timeline_compare_ns);
        threshold = durations[timeline->slice_count - most - 1] + 1;
    }
    free(durations);
    return threshold;
}

/* What never ended lasts until the last event of all. */
static void timeline_close_open(struct timeline *timeline)
{
    int64_t last = 0;
    for (size_t i = 0; i < timeline->slice_count; i++) {
        const struct slice *slice = &timeline->slices[i];
        const int64_t end = slice->start + (slice->duration > 0 ? slice->duration : 0);
        last = end > last ? end : last;
    }
    for (size_t i = 0; i < timeline->slice_count; i++) {
        if (timeline->slices[i].duration < 0) {
            timeline->slices[i].duration = last - timeline->slices[i].start;
        }
    }
}

static json_t *profile_rows(const struct timeline *timeline)
{
    struct row {
        double total, least, most;
        json_int_t count;
    };
    const size_t names = json_object_size(timeline->name_index);
    struct row *rows = calloc(names + 1, sizeof(*rows));
    json_t *list = json_array();
    const char *name = NULL;
    json_t *place = NULL;
    for (size_t i = 0; rows && i < timeline->slice_count; i++) {
        struct row *row = &rows[timeline->slices[i].name];
        const double s = (double)timeline->slices[i].duration * 1e-9;
        row->least = row->count == 0 || s < row->least ? s : row->least;
        row->most = s > row->most ? s : row->most;
        row->total += s;
        row->count++;
    }
    json_object_foreach(timeline->name_index, name, place)
    {
        const struct row *row = rows ? &rows[json_integer_value(place)] : NULL;
        if (row && row->count > 0) {
            (void)json_array_append_new(
                list, json_pack("{s:s, s:I, s:f, s:f, s:f, s:f}", "name", name, "count", row->count,
                                "total_s", row->total, "mean_s", row->total / (double)row->count,
                                "min_s", row->least, "max_s", row->most));
        }
    }
    free(rows);
    return list;
}

static void timeline_append_int(json_t *list, int64_t value)
{
    (void)json_array_append_new(list, json_integer(value));
}

static json_t *slice_lists(const struct timeline *timeline, int64_t threshold, size_t *dropped)
{
    json_t *lists = json_array();
    int64_t *before = calloc(timeline->track_count + 1, sizeof(*before));
    for (size_t t = 0; t < timeline->track_count; t++) {
        (void)json_array_append_new(lists, json_array());
    }
    for (size_t i = 0; before && i < timeline->slice_count; i++) {
        const struct slice *slice = &timeline->slices[i];
        if (slice->duration < threshold) {
            (*dropped)++;
            continue;
        }
        json_t *list = json_array_get(lists, slice->track);
        timeline_append_int(list, slice->start - before[slice->track]);
        timeline_append_int(list, slice->duration);
        timeline_append_int(list, slice->name);
        timeline_append_int(list, slice->depth);
        before[slice->track] = slice->start;
    }
    free(before);
    return lists;
}

static json_t *track_list(const struct timeline *timeline)
{
    json_t *list = json_array();
    for (size_t t = 0; t < timeline->track_count; t++) {
        const struct track *track = &timeline->tracks[t];
        char key[32];
        (void)snprintf(key, sizeof(key), "%lld", (long long)track->process);
        const char *process = json_string_value(json_object_get(timeline->process_names, key));
        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:s}", "name", track->name ? track->name : "",
                                              "process", process ? process : key));
    }
    return list;
}

/* Every k-th of the messages, and every k-th of those that arrive before they were sent: all over
 * the run alike. */
static json_t *message_list(const struct timeline *timeline, size_t counts[2])
{
    json_t *list = json_array();
    size_t seen[2] = {0, 0};
    for (size_t i = 0; i < timeline->message_count; i++) {
        const struct message *message = &timeline->messages[i];
        counts[message->received < message->sent] += message->whole;
    }
    const size_t every[2] = {counts[0] / most_arrows + 1, counts[1] / most_backward + 1};
    for (size_t i = 0; i < timeline->message_count; i++) {
        const struct message *message = &timeline->messages[i];
        const bool backward = message->received < message->sent;
        if (message->whole && seen[backward]++ % every[backward] == 0) {
            timeline_append_int(list, message->from);
            timeline_append_int(list, message->sent);
            timeline_append_int(list, message->to);
            timeline_append_int(list, message->received);
            timeline_append_int(list, message->bytes);
        }
    }
    return list;
}

static json_t *name_list(const struct timeline *timeline)
{
    json_t *list = json_array();
    const char *name = NULL;
    json_t *place = NULL;
    /* the index was filled in the order of its places */
    json_object_foreach(timeline->name_index, name, place)
    {
        (void)json_array_append_new(list, json_string(name));
    }
    return list;
}

static int timeline_to_objects(struct timeline *timeline, const char *path, size_t most,
                               json_t **objects)
{
    size_t dropped = 0;
    timeline_close_open(timeline);
    const int64_t threshold = timeline_find_threshold(timeline, most);
    json_t *slices = slice_lists(timeline, threshold, &dropped);
    size_t counts[2] = {0, 0};
    json_t *messages = message_list(timeline, counts);
    const size_t all = counts[0] + counts[1];
    json_t *object =
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:I, s:I, s:I}", "type",
                  "timeline", "archive", ictus_result_text(path), "tracks", track_list(timeline),
                  "names", name_list(timeline), "slices", slices, "messages", messages,
                  "message_count", (json_int_t)all, "backward_count", (json_int_t)counts[1],
                  "profile", profile_rows(timeline), "dropped", (json_int_t)dropped, "shortest_ns",
                  (json_int_t)threshold, "events", (json_int_t)timeline->event_count);
    *objects = json_pack("[{s:s}, o]", "type", "header", object);
    return *objects ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

static void timeline_free(struct timeline *timeline)
{
    for (size_t t = 0; t < timeline->track_count; t++) {
        free(timeline->tracks[t].name);
    }
    free(timeline->tracks);
    free(timeline->slices);
    free(timeline->messages);
    json_decref(timeline->track_index);
    json_decref(timeline->name_index);
    json_decref(timeline->message_index);
    json_decref(timeline->process_names);
}

bool timeline_is_trace(const char *path)
{
    char start[4096];
    FILE *file = fopen(path, "re");
    if (!file) {
        return false;
    }
    const size_t count = fread(start, 1, sizeof(start) - 1, file);
    start[count] = '\0';
    (void)fclose(file);
    return strstr(start, "\"traceEvents\"") || (start[0] == '[' && strstr(start, "\"ph\""));
}

int timeline_read(const char *path, size_t most, json_t **objects, struct ictus_why *why)
{
    struct timeline timeline = {.track_index = json_object(),
                                .name_index = json_object(),
                                .message_index = json_object(),
                                .process_names = json_object()};
    FILE *file = fopen(path, "re");
    int err = ICTUS_OK;
    if (!file) {
        err = ictus_because(why, ICTUS_ERR_IO, "cannot read '%.200s': %s", path, strerror(errno));
    } else {
        err = timeline_read_lines(&timeline, file);
        if (!err && timeline.event_count == 0) {
            err = timeline_read_whole(&timeline, file);
        }
        (void)fclose(file);
    }
    if (!err && timeline.slice_count == 0) {
        err = ictus_because(why, ICTUS_ERR_FORMAT, "'%.200s' holds no trace events", path);
    }
    if (!err) {
        err = timeline_to_objects(&timeline, path, most, objects);
    }
    timeline_free(&timeline);
    return err;
}
