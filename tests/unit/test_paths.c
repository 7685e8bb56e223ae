/* SPDX-License-Identifier: BSD-3-Clause */
/* Call paths: equal calls have one path, with names from the outermost on, and places. */
#include "../check.h"

#include "waits/paths.h"

#include <stdbool.h>
#include <stdint.h>

enum { REGIONS = 4, FIRST_REF = 40, FILE_STRING = 90, CONTEXT = 7, SOURCE = 5, LINE = 120 };

static char main_name[] = "main";
static char solve_name[] = "solve";
static char recv_name[] = "MPI_Recv";
static char file_name[] = "/home/someone/solver.c";
static char *strings[] = {main_name, solve_name, recv_name, file_name};
static struct name_row rows[REGIONS] = {{FIRST_REF, 80}, {FIRST_REF + 1, 81}, {FIRST_REF + 2, 82}};

static void trace_open(struct trace *t)
{
    *t = (struct trace){.strings = strings, .regions = {.rows = rows, .count = 3}};
    for (uint32_t i = 0; i < 3; i++) {
        REQUIRE(!ictusi_idmap_put(&t->regions.index, FIRST_REF + i, 0, i));
        REQUIRE(!ictusi_idmap_put(&t->string_index, 80 + i, 0, i));
    }
    REQUIRE(!ictusi_idmap_put(&t->string_index, FILE_STRING, 0, 3));
    REQUIRE(!ictusi_idmap_put(&t->places.source, CONTEXT, 0, SOURCE));
    REQUIRE(!ictusi_idmap_put(&t->places.file, SOURCE, 0, FILE_STRING));
    REQUIRE(!ictusi_idmap_put(&t->places.line, SOURCE, 0, LINE));
    REQUIRE(!ictusi_idmap_put(&t->places.region, CONTEXT + 1, 0, FIRST_REF + 1));
}

static void trace_close(struct trace *t)
{
    ictusi_idmap_fini(&t->regions.index);
    ictusi_idmap_fini(&t->string_index);
    ictusi_idmap_fini(&t->places.source);
    ictusi_idmap_fini(&t->places.file);
    ictusi_idmap_fini(&t->places.line);
    ictusi_idmap_fini(&t->places.region);
}

static uint32_t entered(struct paths *paths, uint32_t parent, uint32_t which, uint64_t site)
{
    const uint32_t path = path_enter(paths, parent, FIRST_REF + which, site);
    REQUIRE(path != PATH_NONE);
    CHECK(paths->list[path].region == (which < 3 ? which : UINT32_MAX));
    return path;
}

static bool text_is(const struct paths *paths, uint32_t path, size_t size, const char *wanted)
{
    char text[256];
    ictusi_paths_text(paths, path, text, size);
    return strcmp(text, wanted) == 0;
}

static bool place_is(const struct paths *paths, uint32_t path, const char *wanted)
{
    char text[64];
    ictusi_paths_place(paths, path, text, sizeof(text));
    return strcmp(text, wanted) == 0;
}

int main(void)
{
    struct trace trace;
    struct paths paths;
    struct paths other;
    trace_open(&trace);
    REQUIRE(!ictusi_paths_init(&paths, &trace));
    const uint32_t in_main = entered(&paths, PATH_PROGRAM, 0, 0);
    const uint32_t solve = entered(&paths, in_main, 1, 0);
    const uint32_t again = entered(&paths, in_main, 2, CONTEXT + 1);
    const uint32_t recv = entered(&paths, solve, 2, CONTEXT + 1);
    const uint32_t elsewhere = entered(&paths, solve, 2, CONTEXT + 2);
    const uint32_t unknown = entered(&paths, solve, 3, 0);
    CHECK(again != recv && recv != elsewhere && paths.count == 8);
    /* In a loop; the result does not depend on the last one. */
    for (int turn = 0; turn < 3; turn++) {
        CHECK(entered(&paths, in_main, 1, 0) == solve);
        CHECK(entered(&paths, solve, 2, CONTEXT + 1) == recv);
        CHECK(entered(&paths, solve, 2, CONTEXT + 1) == recv);
        CHECK(entered(&paths, solve, 2, CONTEXT + 2) == elsewhere);
        CHECK(entered(&paths, solve, 3, 0) == unknown);
    }
    CHECK(paths.count == 8);
    CHECK(text_is(&paths, recv, 256, "main/solve/MPI_Recv solver.c:120"));
    CHECK(text_is(&paths, elsewhere, 256, "main/solve/MPI_Recv solve"));
    CHECK(text_is(&paths, solve, 256, "main/solve"));
    CHECK(text_is(&paths, unknown, 256, "main/solve/(undefined region)"));
    CHECK(text_is(&paths, PATH_PROGRAM, 256, "(program)"));
    CHECK(text_is(&paths, PATH_MUTED, 256, "(not recorded)"));
    CHECK(text_is(&paths, solve, 12, "main/solve")); /* with room for one more byte, or without */
    CHECK(text_is(&paths, solve, 11, "solve"));
    CHECK(place_is(&paths, recv, "solver.c:120")); /* a line of a file */
    CHECK(place_is(&paths, elsewhere, "solve"));   /* the function that calls */
    CHECK(place_is(&paths, solve, ""));            /* unknown */
    /* Paths of another tree, which exist here or are new. */
    REQUIRE(!ictusi_paths_init(&other, &trace));
    const uint32_t there = entered(&other, entered(&other, PATH_PROGRAM, 0, 0), 1, 0);
    const uint32_t fresh = entered(&other, there, 1, 0);
    uint32_t which[8] = {0};
    REQUIRE(!ictusi_paths_append(&paths, &other, which));
    CHECK(which[PATH_PROGRAM] == PATH_PROGRAM && which[PATH_MUTED] == PATH_MUTED);
    CHECK(which[there] == solve && which[fresh] == 8 && paths.count == 9);
    CHECK(text_is(&paths, which[fresh], 256, "main/solve/solve"));
    ictusi_paths_fini(&other);
    ictusi_paths_fini(&paths);
    trace_close(&trace);
    return check_result();
}
