/* SPDX-License-Identifier: BSD-3-Clause */
/* One control variable of the MPI library, as MPI_T shows it: an integer whose values have names.
 */
#ifndef ICTUS_SELECT_VARIABLE_H
#define ICTUS_SELECT_VARIABLE_H

#include <mpi.h>
#include <stdbool.h>

enum { VARIABLE_VALUES_MAX = 32, VARIABLE_NAME_MAX = 64 };

struct variable {
    MPI_T_cvar_handle handle;
    bool is_int; /* else one byte */
    int count;   /* of named values */
    int values[VARIABLE_VALUES_MAX];
    char text[VARIABLE_VALUES_MAX][VARIABLE_NAME_MAX];
};

/* Open variable `index`, and name its values. Local. False when it is of no use here. */
bool ictusi_variable_open(int index, struct variable *variable);

void ictusi_variable_close(struct variable *variable);

bool ictusi_variable_read(const struct variable *variable, int *value);

/* Write a value and read it back. */
bool ictusi_variable_write(const struct variable *variable, int value);

/* The value of a name; false when it has none. */
bool ictusi_variable_value(const struct variable *variable, const char *name, int *value);

/*
 * Take the names of values out of MPICH's description, which runs them together: "Variable to
 * select barrier algorithmauto - Internal ...nb   - Force nonblocking algorithmsmp   - Force ...".
 * Values count from 0 in that order. Returns how many were found.
 */
int ictusi_variable_parse(const char *description, char text[][VARIABLE_NAME_MAX], int room);

#endif
