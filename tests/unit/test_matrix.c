/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks and verdicts of constructed matrices. */
#include "bench/matrix_after.h"

#include "../check.h"

#include <unistd.h>

static void set(struct matrix *m, int row, int column, double median)
{
    m->cells[row][column] = (struct cell){true, median, median * 0.98, median * 1.02, 0, 100, 0, 1};
}

static void fill(struct matrix *m)
{
    static const char *const rows[] = {"default", "linear", "binomial"};
    static const char *const schemes[] = {"dissemination", "barrier:algorithm=mpi:double_ring",
                                          "harmonize"};
    memset(m, 0, sizeof(*m));
    m->operation = "reduce";
    m->bytes = 8;
    m->processes = 16;
    m->rows = 3;
    m->columns = 3;
    for (int i = 0; i < 3; i++) {
        strcpy(m->algorithms[i], rows[i]);
        strcpy(m->schemes[i], schemes[i]);
        set(m, 0, i, 0.9e-6); /* the default is not the fastest */
        set(m, 1, i, 5e-6);
        set(m, 2, i, 1e-6);
    }
}

static enum matrix_outcome outcome;

/* A is faster than B if its interval ends before B's begins. */
static const char *verdict(struct matrix *m)
{
    static char text[MATRIX_VERDICT];
    for (int i = 0; i < m->columns; i++) {
        matrix_place(m, i);
        for (int a = 0; a < m->rows; a++) {
            for (int b = 0; b < m->rows; b++) {
                m->faster[i][a][b] = m->cells[a][i].high_s < m->cells[b][i].low_s;
            }
        }
    }
    outcome = matrix_verdict(m, text, sizeof(text));
    return text;
}

/* Cells that were not measured take no space in the table. */
static void test_print(struct matrix *m)
{
    char text[2048] = "";
    FILE *out = fmemopen(text, sizeof(text), "w");
    fill(m);
    for (int i = 0; i < 3; i++) {
        m->cells[1][i].measured = false;
        m->cells[i][1].measured = false;
    }
    CHECK(out != NULL && !matrix_row_measured(m, 1) && matrix_row_measured(m, 2));
    CHECK(matrix_print(m, out) == 0);
    (void)fclose(out);
    CHECK(!strstr(text, "linear") && !strstr(text, "double_ring") && strstr(text, "binomial"));
}

/* A scheme with an option takes two lines, so that many columns fit side by side. */
static void test_head(struct matrix *m)
{
    static const char *const want = "#         barrier:algorithm=          \n"
                                    "#            mpi:double_ring harmonize\n"
                                    "# default             0.900*    0.900*\n";
    char text[2048] = "";
    FILE *out = fmemopen(text, sizeof(text), "w");
    fill(m);
    m->rows = 1;
    m->cells[0][0].measured = false;
    matrix_place(m, 1);
    matrix_place(m, 2);
    CHECK(out != NULL && matrix_print(m, out) == 0);
    (void)fclose(out);
    CHECK(strstr(text, want) != NULL);
}

/* An earlier matrix is queried for two rows of one column of the same measurement. */
static void test_after(struct matrix *m)
{
    json_t *cells =
        json_pack("[{s:s, s:s, s:s, s:s, s:i, s:i, s:[s]}, {s:s, s:s, s:s, s:s, s:i, s:i, s:[]}]",
                  "operation", "reduce", "scheme", "harmonize", "algorithm", "binomial",
                  "reduction", "mean", "bytes", 8, "processes", 16, "faster_than", "linear",
                  "operation", "reduce", "scheme", "harmonize", "algorithm", "linear", "reduction",
                  "mean", "bytes", 8, "processes", 16, "faster_than");
    fill(m);
    REQUIRE(cells);
    CHECK(matrix_after_find(cells, m, "mean", 2, 2, 1) == TURNS_SLOWER);
    CHECK(matrix_after_find(cells, m, "mean", 2, 1, 2) == TURNS_NOT_SLOWER);
    CHECK(matrix_after_find(cells, m, "mean", 2, 2, 0) == TURNS_UNKNOWN);
    CHECK(matrix_after_find(cells, m, "mean", 1, 2, 1) == TURNS_UNKNOWN);
    CHECK(matrix_after_find(cells, m, "max", 2, 2, 1) == TURNS_UNKNOWN);
    CHECK(matrix_after_find(NULL, m, "mean", 2, 2, 1) == TURNS_UNKNOWN);
    m->bytes = 9;
    CHECK(matrix_after_find(cells, m, "mean", 2, 2, 1) == TURNS_UNKNOWN);
    m->faster[2][2][1] = true;
    json_t *names = matrix_after_names(m, 2, 2);
    CHECK(json_array_size(names) == 1);
    CHECK_STR(json_string_value(json_array_get(names, 0)), "linear");
    json_decref(names);
    json_decref(cells);
}

/* A file of two matrices, of which the later counts, of another result, and of a matrix by an older
 * program that compares no rows. */
static const char *const earlier[] = {
    "{\"type\":\"matrix\",\"operation\":\"reduce\",\"scheme\":\"harmonize\",\"algorithm\":"
    "\"binomial\","
    "\"reduction\":\"mean\",\"bytes\":8,\"processes\":16,\"faster_than\":[]}",
    "{\"type\":\"matrix\",\"operation\":\"reduce\",\"scheme\":\"harmonize\",\"algorithm\":"
    "\"linear\","
    "\"reduction\":\"mean\",\"bytes\":8,\"processes\":16,\"faster_than\":[\"binomial\"]}",
    "{\"type\":\"matrix\",\"operation\":\"reduce\",\"scheme\":\"harmonize\",\"algorithm\":"
    "\"binomial\","
    "\"reduction\":\"mean\",\"bytes\":8,\"processes\":16,\"faster_than\":[5,\"linear\"]}",
    "{\"type\":\"matrix\",\"operation\":\"reduce\",\"scheme\":\"harmonize\",\"algorithm\":"
    "\"linear\","
    "\"reduction\":\"mean\",\"bytes\":8,\"processes\":16,\"faster_than\":[]}",
    "{\"type\":\"matrix\",\"operation\":\"reduce\",\"scheme\":\"harmonize\",\"algorithm\":"
    "\"linear\","
    "\"reduction\":\"mean\",\"bytes\":8,\"processes\":16}",
    "{\"type\":\"bench\",\"operation\":\"reduce\",\"scheme\":\"harmonize\",\"algorithm\":"
    "\"linear\","
    "\"reduction\":\"mean\",\"bytes\":8,\"processes\":16,\"faster_than\":[\"binomial\"]}"};

enum { EARLIER = sizeof(earlier) / sizeof(earlier[0]), EARLIER_CELLS = 4 };

/* Read lines first to last - 1 of them from a file. */
static int earlier_read(int first, int last, json_t **cells, struct ictus_why *why)
{
    char path[CHECK_PATH];
    const int fd = mkstemp(check_scratch(path, "matrix"));
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    REQUIRE(file);
    for (int i = first; i < last; i++) {
        (void)fprintf(file, "%s\n", earlier[i]);
    }
    REQUIRE(!fclose(file));
    const int err = matrix_after_read(path, cells, why);
    CHECK(err != ICTUS_ERR_FORMAT || strstr(why->text, path));
    (void)unlink(path);
    return err;
}

/* What an earlier matrix found is read from its file, and of two the later one counts. */
static void test_after_read(struct matrix *m)
{
    struct ictus_why why = {.text = ""};
    json_t *cells = NULL;
    fill(m);
    REQUIRE(!earlier_read(0, EARLIER, &cells, &why));
    CHECK(json_array_size(cells) == EARLIER_CELLS);
    CHECK(matrix_after_find(cells, m, "mean", 2, 2, 1) == TURNS_SLOWER);
    CHECK(matrix_after_find(cells, m, "mean", 2, 1, 2) == TURNS_NOT_SLOWER);
    json_decref(cells);
    REQUIRE(!earlier_read(0, 2, &cells, &why));
    CHECK(matrix_after_find(cells, m, "mean", 2, 2, 1) == TURNS_NOT_SLOWER);
    CHECK(matrix_after_find(cells, m, "mean", 2, 1, 2) == TURNS_SLOWER);
    m->processes = 17;
    CHECK(matrix_after_find(cells, m, "mean", 2, 1, 2) == TURNS_UNKNOWN);
    m->processes = 16;
    m->operation = "bcast";
    CHECK(matrix_after_find(cells, m, "mean", 2, 1, 2) == TURNS_UNKNOWN);
    json_decref(cells);
    /* Neither a measurement nor a matrix without comparisons is an earlier matrix. */
    cells = NULL;
    CHECK(earlier_read(EARLIER_CELLS, EARLIER, &cells, &why) == ICTUS_ERR_FORMAT);
    CHECK(strstr(why.text, "holds no matrix"));
    json_decref(cells);
    cells = NULL;
    CHECK(matrix_after_read("/nonexistent/matrix", &cells, &why) == ICTUS_ERR_IO);
    CHECK(!cells);
}

/* What a row beats is told of its own column and row, in the order of the rows. */
static void test_after_names(struct matrix *m)
{
    fill(m);
    m->faster[1][0][1] = m->faster[1][0][2] = m->faster[0][1][2] = true;
    json_t *names = matrix_after_names(m, 1, 0);
    CHECK(json_array_size(names) == 2);
    CHECK_STR(json_string_value(json_array_get(names, 0)), "linear");
    CHECK_STR(json_string_value(json_array_get(names, 1)), "binomial");
    json_decref(names);
    names = matrix_after_names(m, 2, 0);
    CHECK(json_is_array(names) && json_array_size(names) == 0);
    json_decref(names);
}

/* Each column that changes the winner is named, wherever it stands. */
static void test_changes(struct matrix *m)
{
    set(m, 1, 0, 0.2e-6);
    CHECK(strstr(verdict(m), "but linear under dissemination, linear under barrier:algorithm="));
    set(m, 1, 1, 5e-6);
    CHECK(strstr(verdict(m), "but linear under dissemination") && outcome == MATRIX_CHANGED);
    /* Without harmonised starts the first column is the one that counts. */
    strcpy(m->schemes[2], "barrier");
    CHECK(matrix_judge(m) == 0);
    CHECK(strstr(verdict(m), "linear under dissemination, but binomial under barrier:algorithm="));
    CHECK(strstr(verdict(m), ", binomial under barrier") && outcome == MATRIX_CHANGED);
    strcpy(m->schemes[2], "harmonize");
    set(m, 1, 0, 5e-6);
    set(m, 1, 1, 0.2e-6);
    (void)verdict(m);
}

int main(void)
{
    static struct matrix m;
    fill(&m);
    CHECK(strstr(verdict(&m), "does not change the winner: binomial under harmonize"));
    CHECK(outcome == MATRIX_SAME && matrix_winner(&m, 2) == 2 && matrix_judge(&m) == 2);
    CHECK(m.cells[0][0].place == 1 && m.cells[2][0].place == 2 && m.cells[1][0].place == 3);
    set(&m, 1, 1, 0.2e-6); /* as in S23, figure 2 */
    CHECK_STR(verdict(&m),
              "reduce of 8 bytes on 16 processes: the choice of common start changes the winner: "
              "binomial under harmonize, but linear under barrier:algorithm=mpi:double_ring");
    CHECK(outcome == MATRIX_CHANGED);
    test_changes(&m);
    set(&m, 1, 2, 1.01e-6); /* equally fast where it counts */
    CHECK(strstr(verdict(&m), "unclear; the fastest may be binomial or linear under harmonize"));
    CHECK(outcome == MATRIX_UNCLEAR && matrix_winner(&m, 2) == -1);
    set(&m, 1, 2, 5e-6);
    set(&m, 2, 1, 0.201e-6); /* a column that does not distinguish them changes nothing */
    CHECK(strstr(verdict(&m), "does not change") && outcome == MATRIX_SAME);
    m.cells[2][2].measured = false;
    m.cells[1][2].measured = false;
    m.cells[0][2].measured = false;
    CHECK(strstr(verdict(&m), "nothing was measured"));
    CHECK(outcome == MATRIX_EMPTY);
    test_print(&m);
    test_head(&m);
    test_after(&m);
    test_after_read(&m);
    test_after_names(&m);
    return check_result();
}
