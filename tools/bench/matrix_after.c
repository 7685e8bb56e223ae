/* SPDX-License-Identifier: BSD-3-Clause */
/* An earlier matrix, whose findings stay unless they are clearly wrong now. */
#include "bench/matrix_after.h"
#include "main/member.h"

#include <ictus/result.h>
#include <ictus/text.h>

#include <string.h>

int matrix_after_read(const char *path, json_t **cells, struct ictus_why *why)
{
    json_t *objects = NULL;
    json_t *object = NULL;
    int skipped = 0;
    size_t i = 0;
    int err = ictus_result_read(path, &objects, &skipped, why);
    if (err) {
        return err;
    }
    *cells = json_array();
    json_array_foreach(objects, i, object)
    {
        if (strcmp(member_text(object, "type"), "matrix") == 0 &&
            json_is_array(json_object_get(object, "faster_than"))) {
            err = json_array_append(*cells, object) ? ICTUS_ERR_NOMEM : err;
        }
    }
    json_decref(objects);
    if (!err && json_array_size(*cells) == 0) {
        err = ictus_because(why, ICTUS_ERR_FORMAT,
                            "'%.200s' holds no matrix; 'ictus matrix -o FILE' writes one", path);
    }
    return err;
}

/* The cell of a row and column; the last one if there are several. NULL: none. */
static const json_t *cell_find(const json_t *cells, const struct matrix *m, const char *reduction,
                               int column, int row)
{
    const json_t *found = NULL;
    json_t *cell = NULL;
    size_t i = 0;
    json_array_foreach((json_t *)cells, i, cell)
    {
        const json_int_t bytes = json_integer_value(json_object_get(cell, "bytes"));
        const json_int_t processes = json_integer_value(json_object_get(cell, "processes"));
        if (strcmp(member_text(cell, "operation"), m->operation) == 0 &&
            strcmp(member_text(cell, "scheme"), m->schemes[column]) == 0 &&
            strcmp(member_text(cell, "algorithm"), m->algorithms[row]) == 0 &&
            strcmp(member_text(cell, "reduction"), reduction) == 0 &&
            bytes == (json_int_t)m->bytes && processes == m->processes) {
            found = cell;
        }
    }
    return found;
}

enum turns_before matrix_after_find(const json_t *cells, const struct matrix *matrix,
                                    const char *reduction, int column, int a, int b)
{
    const json_t *mine = cell_find(cells, matrix, reduction, column, a);
    const json_t *slower = json_object_get(mine, "faster_than");
    json_t *name = NULL;
    size_t i = 0;
    if (!mine || !cell_find(cells, matrix, reduction, column, b)) {
        return TURNS_UNKNOWN;
    }
    json_array_foreach((json_t *)slower, i, name)
    {
        if (json_is_string(name) && strcmp(json_string_value(name), matrix->algorithms[b]) == 0) {
            return TURNS_SLOWER;
        }
    }
    return TURNS_NOT_SLOWER;
}

json_t *matrix_after_names(const struct matrix *matrix, int column, int row)
{
    json_t *names = json_array();
    for (int i = 0; i < matrix->rows; i++) {
        if (matrix->faster[column][row][i]) {
            (void)json_array_append_new(names, json_string(matrix->algorithms[i]));
        }
    }
    return names;
}
