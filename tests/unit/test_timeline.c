/* SPDX-License-Identifier: BSD-3-Clause */
/* Trace events of other tools as a timeline: what is in it, and what is left out of a large one. */
#include "results/timeline.h"

#include "../check.h"

#include <unistd.h>

static char path[CHECK_PATH];
static json_t *timeline; /* the last one, of `objects` */
static json_t *objects;

static int reallocs_left = -1; /* all */

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */
void *__wrap_realloc(void *memory, size_t bytes)
{
    if (reallocs_left == 0) {
        return NULL;
    }
    reallocs_left -= reallocs_left > 0;
    return __real_realloc(memory, bytes);
}

static void file_write(const char *text)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* A timeline of what the file holds. */
static int file_read(size_t most)
{
    struct ictus_why why = {""};
    json_decref(objects);
    objects = NULL;
    const int err = timeline_read(path, most, &objects, &why);
    CHECK((err != ICTUS_OK) == (why.text[0] != '\0'));
    timeline = json_array_get(objects, 1);
    if (!err) {
        REQUIRE(timeline && json_array_size(objects) == 2);
        CHECK_STR(json_string_value(json_object_get(timeline, "archive")), path);
    }
    return err;
}

/* A member as JSON. */
static void member_is(const char *name, const char *wanted)
{
    char *text = json_dumps(json_object_get(timeline, name), JSON_COMPACT | JSON_ENCODE_ANY);
    CHECK_STR(text ? text : "(nothing)", wanted);
    free(text);
}

static int64_t number_of(const char *name)
{
    return json_integer_value(json_object_get(timeline, name));
}

static const char events[] =
    "{\"ph\":\"M\",\"pid\":7,\"name\":\"process_name\",\"args\":{\"name\":\"first\"}},\n"
    "{\"ph\":\"M\",\"pid\":7,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"main\"}},\n"
    "{\"ph\":\"B\",\"pid\":7,\"tid\":1,\"ts\":10,\"name\":\"f\"},\n"
    "{\"ph\":\"X\",\"pid\":8,\"tid\":1,\"ts\":1.5,\"dur\":2.25,\"name\":\"g\"},\n"
    "{\"ph\":\"B\",\"pid\":7,\"tid\":1,\"ts\":12,\"name\":\"g\"},\n"
    "{\"ph\":\"s\",\"pid\":7,\"tid\":1,\"ts\":13,\"id\":1,\"args\":{\"bytes\":64}},\n"
    "{\"ph\":\"E\",\"pid\":7,\"tid\":1,\"ts\":14},\n"
    "{\"ph\":\"f\",\"pid\":8,\"tid\":1,\"ts\":16,\"id\":1},\n"
    "{\"ph\":\"f\",\"pid\":7,\"tid\":1,\"ts\":17,\"id\":\"x\"},\n"
    "{\"ph\":\"s\",\"pid\":8,\"tid\":1,\"ts\":18,\"id\":\"x\"},\n"
    "{\"ph\":\"s\",\"pid\":8,\"tid\":1,\"ts\":19,\"id\":2},\n"
    "{\"ph\":\"C\",\"pid\":8,\"tid\":9,\"ts\":19},\n"
    "{\"ph\":\"B\",\"pid\":8,\"tid\":1,\"ts\":15},\n"
    "{\"ph\":\"E\",\"pid\":9,\"tid\":1,\"ts\":15},\n"
    "{\"ph\":\"X\",\"pid\":\"p\",\"tid\":\"t\",\"ts\":20,\"dur\":5,\"name\":\"f\"}\n";

static void events_are_drawn(void)
{
    member_is("tracks", "[{\"name\":\"main\",\"process\":\"first\"},"
                        "{\"name\":\"\",\"process\":\"8\"},{\"name\":\"\",\"process\":\"9\"},"
                        "{\"name\":\"\",\"process\":\"0\"}]");
    member_is("names", "[\"f\",\"g\",\"?\"]");
    /* Start since the one before, duration, name, depth; what never ends lasts until the end. */
    member_is("slices", "[[10000,15000,0,0,2000,2000,1,1],[1500,2250,1,0,13500,10000,2,0],[],"
                        "[20000,5000,0,0]]");
    /* A message without a receive is none; one that arrives before it was sent is backward. */
    CHECK(number_of("message_count") == 2 && number_of("backward_count") == 1);
    member_is("messages", "[0,13000,1,16000,64,1,18000,0,17000,-1]");
    CHECK(number_of("events") == 15 && number_of("dropped") == 0 && number_of("shortest_ns") == 0);
    const json_t *row = json_array_get(json_object_get(timeline, "profile"), 0);
    CHECK_STR(json_string_value(json_object_get(row, "name")), "f");
    CHECK(json_integer_value(json_object_get(row, "count")) == 2);
    CHECK_NEAR(json_real_value(json_object_get(row, "total_s")), 20e-6, 1e-12);
    CHECK_NEAR(json_real_value(json_object_get(row, "mean_s")), 10e-6, 1e-12);
    CHECK_NEAR(json_real_value(json_object_get(row, "min_s")), 5e-6, 1e-12);
    CHECK_NEAR(json_real_value(json_object_get(row, "max_s")), 15e-6, 1e-12);
    CHECK(json_array_size(json_object_get(timeline, "profile")) == 3);
}

/*
 * What never ends lasts until the last end of all, whichever slice that is. A slice without length
 * stays so, and is nobody's parent.
 */
static void ends_are_found(void)
{
    static const char *const long_one =
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":9,\"name\":\"f\"}\n";
    static const char *const open_one =
        "{\"ph\":\"B\",\"pid\":2,\"tid\":1,\"ts\":4,\"name\":\"f\"}\n";
    static const char *const point =
        "{\"ph\":\"X\",\"pid\":3,\"tid\":1,\"ts\":5,\"dur\":0,\"name\":\"f\"}\n";
    static const char *const after =
        "{\"ph\":\"X\",\"pid\":3,\"tid\":1,\"ts\":6,\"dur\":1,\"name\":\"f\"}\n";
    for (int first = 0; first < 2; first++) {
        char text[400];
        (void)snprintf(text, sizeof text, "%s%s%s%s", first ? long_one : open_one,
                       first ? open_one : long_one, point, after);
        file_write(text);
        REQUIRE(!file_read(100));
        member_is("slices", first ? "[[1000,9000,0,0],[4000,6000,0,0],[5000,0,0,0,1000,1000,0,0]]"
                                  : "[[4000,6000,0,0],[1000,9000,0,0],[5000,0,0,0,1000,1000,0,0]]");
    }
}

/* One event a line, or in an array, or in the member of an object. */
static void files_of_all_kinds_are_read(void)
{
    char text[4096];
    static const char *const heads[] = {"[\n", "{\"traceEvents\":[\n", "[", "{\"traceEvents\":["};
    static const char *const ends[] = {"]\n", "]}\n", "]", "]}"};
    for (int i = 0; i < 4; i++) {
        (void)snprintf(text, sizeof text, "%s%s%s", heads[i], events, ends[i]);
        for (char *at = text; i >= 2 && *at; at++) {
            *at = *at == '\n' ? ' ' : *at; /* all in one line */
        }
        file_write(text);
        CHECK(timeline_is_trace(path));
        CHECK(file_read(100) == ICTUS_OK);
        events_are_drawn();
    }
}

static void others_are_refused(void)
{
    static const char *const texts[] = {"", "[]", "{\"a\":1}\n", "[{\"ph\":\"M\"}]",
                                        "[{\"ph\":\"s\",\"id\":1}]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        file_write(texts[i]);
        CHECK(file_read(100) == ICTUS_ERR_FORMAT && !objects);
    }
    file_write("{\"type\":\"header\"}\n");
    CHECK(!timeline_is_trace(path));
    REQUIRE(unlink(path) == 0);
    CHECK(file_read(100) == ICTUS_ERR_IO && !timeline_is_trace(path));
}

/* So many slices of 1, 2, 3 us and so on, and messages of which each fourth is backward. */
static void large_write(int slices, int messages)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file);
    for (int i = 0; i < slices; i++) {
        (void)fprintf(file, "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":%d},\n", 100 * i,
                      i + 1);
    }
    for (int i = 0; i < messages; i++) {
        (void)fprintf(file,
                      "{\"ph\":\"s\",\"pid\":1,\"tid\":1,\"ts\":%d,\"id\":%d},\n"
                      "{\"ph\":\"f\",\"pid\":1,\"tid\":1,\"ts\":%d,\"id\":%d},\n",
                      i + 1, i, i % 4 == 3 ? i : i + 1, i);
    }
    REQUIRE(fclose(file) == 0);
}

/* The longest stay, as many as are wanted; what is left out is in the profile all the same. */
static void short_slices_are_left_out(void)
{
    static const int wanted[] = {0, 1, 3, 9, 10, 11};
    large_write(10, 0);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const int kept = wanted[i] < 10 ? wanted[i] : 10;
        CHECK(file_read((size_t)wanted[i]) == ICTUS_OK);
        CHECK(number_of("dropped") == 10 - kept);
        CHECK(json_array_size(json_array_get(json_object_get(timeline, "slices"), 0)) ==
              (size_t)(4 * kept));
        CHECK(number_of("shortest_ns") == (kept < 10 ? (10 - kept) * 1000 + 1 : 0));
        CHECK(json_integer_value(json_object_get(
                  json_array_get(json_object_get(timeline, "profile"), 0), "count")) == 10);
    }
}

/* Every k-th of either kind, all of which are counted. */
static void messages_are_thinned(void)
{
    static const struct {
        int count, forward, backward;
    } cases[] = {{400, 300, 100}, {20000, 15000, 5000 / 2}, {26668, 20001 / 2 + 1, 6667 / 2 + 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        large_write(1, cases[i].count);
        CHECK(file_read(10) == ICTUS_OK);
        CHECK(number_of("message_count") == cases[i].count);
        CHECK(number_of("backward_count") == cases[i].count / 4);
        const json_t *list = json_object_get(timeline, "messages");
        int backward = 0;
        for (size_t k = 0; k + 4 < json_array_size(list); k += 5) {
            backward += json_integer_value(json_array_get(list, k + 3)) <
                        json_integer_value(json_array_get(list, k + 1));
        }
        CHECK(backward == cases[i].backward);
        CHECK((int)json_array_size(list) / 5 == cases[i].forward + cases[i].backward);
    }
}

/* Wherever memory ends, that is said, and nothing is left. */
static void memory_may_end(void)
{
    file_write(events);
    int err = ICTUS_ERR_NOMEM;
    for (int k = 0; err == ICTUS_ERR_NOMEM && k < 1000; k++) {
        json_t *found = NULL;
        reallocs_left = k;
        err = timeline_read(path, 100, &found, NULL);
        CHECK(err == ICTUS_OK || err == ICTUS_ERR_NOMEM);
        CHECK(err == ICTUS_OK || !found);
        CHECK(k > 3 || err);
        json_decref(found);
    }
    CHECK(err == ICTUS_OK);
    reallocs_left = -1;
}

int main(void)
{
    REQUIRE(close(mkstemp(check_scratch(path, "timeline"))) == 0);
    files_of_all_kinds_are_read();
    ends_are_found();
    short_slices_are_left_out();
    messages_are_thinned();
    memory_may_end();
    others_are_refused();
    json_decref(objects);
    return check_result();
}
