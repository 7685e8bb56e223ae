/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads, writes and names the values of one MPI_T control variable. */
#include "select/variable.h"

#include <ctype.h>
#include <string.h>

enum { DESCRIPTION_MAX = 8192 };

/* Skip the last word of the sentence that precedes a name, because MPICH's descriptions join the
 * two without a blank. */
static const char *variable_without_glue(const char *token, const char *end)
{
    static const char *const glue[] = {"algorithm", "receives", "Allgather", "Tree"};
    for (const char *at = token; at < end; at++) {
        if (*at == ')' || *at == '.') {
            token = at + 1;
        }
    }
    for (size_t i = 0; i < sizeof(glue) / sizeof(glue[0]); i++) {
        const size_t length = strlen(glue[i]);
        if ((size_t)(end - token) > length && strncmp(token, glue[i], length) == 0) {
            token += length;
            break;
        }
    }
    /* "... for sched-based algorithms" precedes "sched_...". */
    if (end - token > 2 && token[0] == 's' && token[1] == 's') {
        token++;
    }
    return token;
}

static bool variable_is_name(const char *from, const char *to)
{
    if (from == to || to - from >= VARIABLE_NAME_MAX) {
        return false;
    }
    for (; from < to; from++) {
        if (!islower((unsigned char)*from) && !isdigit((unsigned char)*from) && *from != '_') {
            return false;
        }
    }
    return true;
}

/*
 * MPICH 4 has no enumerations. Its variables take numbers, and their descriptions list the names
 * that belong to 0, 1, 2, ... as "NAME - what it is", one after another and sometimes without a
 * blank before the name. So the n-th word before a dash is the name of value n, provided that all
 * of these words look like names. One word that is missed or invented would shift all that follow.
 */
int ictusi_variable_parse(const char *description, char text[][VARIABLE_NAME_MAX], int room)
{
    int count = 0;
    const char *dash = strstr(description, " - ");
    for (; dash && count < room; dash = strstr(dash + 3, " - ")) {
        const char *end = dash;
        while (end > description && end[-1] == ' ') {
            end--;
        }
        const char *token = end;
        while (token > description && !isspace((unsigned char)token[-1])) {
            token--;
        }
        token = variable_without_glue(token, end);
        if (!variable_is_name(token, end)) {
            return 0; /* a wrong guess would select a wrong algorithm */
        }
        memcpy(text[count], token, (size_t)(end - token));
        text[count++][end - token] = '\0';
    }
    return count;
}

/* Take the names from the enumeration that the library itself provides, as Open MPI does. */
static int variable_named_by_library(MPI_T_enum names, struct variable *variable)
{
    char title[VARIABLE_NAME_MAX];
    int length = (int)sizeof(title);
    int count = 0;
    if (MPI_T_enum_get_info(names, &count, title, &length) != MPI_SUCCESS) {
        return 0;
    }
    int kept = 0;
    for (int i = 0; i < count && kept < VARIABLE_VALUES_MAX; i++) {
        length = VARIABLE_NAME_MAX;
        if (MPI_T_enum_get_item(names, i, &variable->values[kept], variable->text[kept], &length) ==
            MPI_SUCCESS) {
            kept++;
        }
    }
    return kept;
}

/* MPICH numbers the values in the order of its description, beginning with 0. */
static int variable_named_by_description(const char *description, struct variable *variable)
{
    const int count = ictusi_variable_parse(description, variable->text, (int)VARIABLE_VALUES_MAX);
    for (int i = 0; i < count; i++) {
        variable->values[i] = i;
    }
    return count;
}

bool ictusi_variable_open(int index, struct variable *variable)
{
    char name[256];
    char description[DESCRIPTION_MAX];
    int name_length = (int)sizeof(name);
    int length = (int)sizeof(description);
    int verbosity = 0;
    int bind = 0;
    int scope = 0;
    int elements = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum names = MPI_T_ENUM_NULL;
    memset(variable, 0, sizeof(*variable));
    if (MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &type, &names, description,
                            &length, &bind, &scope) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &variable->handle, &elements) != MPI_SUCCESS) {
        return false;
    }
    variable->is_int = type == MPI_INT;
    variable->count = names != MPI_T_ENUM_NULL
                          ? variable_named_by_library(names, variable)
                          : variable_named_by_description(description, variable);
    /* MPI_T would read and write all elements of an array, and only one integer is provided for
     * it. */
    if (elements != 1) {
        ictusi_variable_close(variable);
        return false;
    }
    return true;
}

void ictusi_variable_close(struct variable *variable)
{
    MPI_T_cvar_handle_free(&variable->handle);
}

/* The room is larger than an int, because some of Open MPI's variables are bool or longer than
 * int, and MPI_T writes as many bytes as the variable has. */
bool ictusi_variable_read(const struct variable *variable, int *value)
{
    union {
        int number;
        unsigned char byte;
        char room[64];
    } held;
    memset(&held, 0, sizeof(held));
    if (MPI_T_cvar_read(variable->handle, &held) != MPI_SUCCESS) {
        return false;
    }
    *value = variable->is_int ? held.number : held.byte;
    return true;
}

/* A library may accept a value and not keep it, for example one that is out of range. So the
 * value is read back. */
bool ictusi_variable_write(const struct variable *variable, int value)
{
    int now = 0;
    return variable->is_int && MPI_T_cvar_write(variable->handle, &value) == MPI_SUCCESS &&
           ictusi_variable_read(variable, &now) && now == value;
}

bool ictusi_variable_lent_open(int index, struct lent *lent)
{
    memset(lent, 0, sizeof(*lent));
    if (!ictusi_variable_open(index, &lent->variable)) {
        return false;
    }
    /* Only integers can be written, see ictusi_variable_write(). */
    lent->open = lent->variable.is_int && ictusi_variable_read(&lent->variable, &lent->original);
    if (!lent->open) {
        ictusi_variable_close(&lent->variable);
    }
    return lent->open;
}

void ictusi_variable_lent_close(struct lent *lent)
{
    if (lent->open) {
        ictusi_variable_close(&lent->variable);
        lent->open = false;
    }
}

/* The value that the variable has for everybody else, whether or not it is changed at the
 * moment. */
int ictusi_variable_lent_value(const struct lent *lent, int otherwise)
{
    int value = otherwise;
    if (lent->open && lent->changed) {
        return lent->original;
    }
    return lent->open && ictusi_variable_read(&lent->variable, &value) ? value : otherwise;
}

/* The original value is read before each first change and not only when the variable is opened,
 * because the program may have set it in between. */
bool ictusi_variable_lent_write(struct lent *lent, int value)
{
    if (!lent->open) {
        return true;
    }
    if (!lent->changed) {
        (void)ictusi_variable_read(&lent->variable, &lent->original);
        lent->changed = true;
    }
    return ictusi_variable_write(&lent->variable, value);
}

bool ictusi_variable_lent_restore(struct lent *lent)
{
    const bool changed = lent->changed;
    lent->changed = false;
    return !changed || ictusi_variable_write(&lent->variable, lent->original);
}

bool ictusi_variable_value(const struct variable *variable, const char *name, int *value)
{
    for (int i = 0; i < variable->count; i++) {
        if (strcmp(variable->text[i], name) == 0) {
            *value = variable->values[i];
            return true;
        }
    }
    return false;
}
