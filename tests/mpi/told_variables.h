/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_T's control variables as a test defines them: those of any library, under any other one. */
#ifndef ICTUS_TESTS_MPI_TOLD_VARIABLES_H
#define ICTUS_TESTS_MPI_TOLD_VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "check_mpi.h"

/* A variable of the library; its values are named in its description or by an enumeration. */
struct told {
    const char *name, *description;
    const char *const *values;
    int value;
    bool is_byte, is_constant;
    int open;
};

static struct told *variables;
static int variable_count, tools;

static struct told *told_of(MPI_T_cvar_handle handle)
{
    return &variables[(uintptr_t)handle / 64 - 1];
}

/* The functions by which the library describes its variables. */
int MPI_T_init_thread(int required, int *provided)
{
    *provided = required;
    tools++;
    return MPI_SUCCESS;
}

int MPI_T_finalize(void)
{
    tools--;
    return MPI_SUCCESS;
}

int MPI_T_cvar_get_num(int *count)
{
    *count = variable_count;
    return MPI_SUCCESS;
}

int MPI_T_cvar_get_index(const char *name, int *index)
{
    for (*index = 0; *index < variable_count; (*index)++) {
        if (strcmp(variables[*index].name, name) == 0) {
            return MPI_SUCCESS;
        }
    }
    return MPI_T_ERR_INVALID_NAME;
}

int MPI_T_cvar_get_info(int index, char *name, int *name_length, int *verbosity, MPI_Datatype *type,
                        MPI_T_enum *names, char *description, int *description_length, int *bind,
                        int *scope)
{
    const struct told *v = &variables[index];
    (void)verbosity;
    (void)bind;
    (void)scope;
    (void)snprintf(name, (size_t)*name_length, "%s", v->name);
    *type = v->is_byte ? MPI_CHAR : MPI_INT;
    *names = MPI_T_ENUM_NULL;
    if (v->values) {
        *names = (MPI_T_enum)(uintptr_t)(64 * (index + 1));
    }
    if (description) {
        (void)snprintf(description, (size_t)*description_length, "%s",
                       v->description ? v->description : "");
    }
    return MPI_SUCCESS;
}

int MPI_T_enum_get_info(MPI_T_enum names, int *count, char *name, int *length)
{
    const struct told *v = &variables[(uintptr_t)names / 64 - 1];
    (void)snprintf(name, (size_t)*length, "%s", v->name);
    for (*count = 0; v->values[*count];) {
        (*count)++;
    }
    return MPI_SUCCESS;
}

int MPI_T_enum_get_item(MPI_T_enum names, int index, int *value, char *name, int *length)
{
    *value = index;
    (void)snprintf(name, (size_t)*length, "%s", variables[(uintptr_t)names / 64 - 1].values[index]);
    return MPI_SUCCESS;
}

int MPI_T_cvar_handle_alloc(int index, void *object, MPI_T_cvar_handle *handle, int *count)
{
    CHECK(!object);
    *handle = (MPI_T_cvar_handle)(uintptr_t)(64 * (index + 1));
    *count = 1;
    variables[index].open++;
    return MPI_SUCCESS;
}

int MPI_T_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    CHECK(--told_of(*handle)->open >= 0);
    return MPI_SUCCESS;
}

int MPI_T_cvar_read(MPI_T_cvar_handle handle, void *held)
{
    const struct told *v = told_of(handle);
    CHECK(v->open > 0);
    if (v->is_byte) {
        *(char *)held = (char)v->value;
    } else {
        *(int *)held = v->value;
    }
    return MPI_SUCCESS;
}

int MPI_T_cvar_write(MPI_T_cvar_handle handle, const void *wanted)
{
    struct told *v = told_of(handle);
    CHECK(v->open > 0 && !v->is_byte);
    v->value = v->is_constant ? v->value : *(const int *)wanted;
    return v->is_constant ? MPI_T_ERR_CVAR_SET_NEVER : MPI_SUCCESS;
}

#endif
