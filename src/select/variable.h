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

/* One that is changed for a while. */
struct lent {
    struct variable variable;
    bool open;
    bool changed;
    int original; /* before it was changed */
};

/* Open variable `index`, and name its values. Local. False when it is of no use here. */
bool ictusi_variable_open(int index, struct variable *variable);

void ictusi_variable_close(struct variable *variable);

bool ictusi_variable_read(const struct variable *variable, int *value);

/* Write a value and read it back. */
bool ictusi_variable_write(const struct variable *variable, int value);

/* Open one to change for a while: an integer. False, and not open, when it is none. */
bool ictusi_variable_lent_open(int index, struct lent *lent);

void ictusi_variable_lent_close(struct lent *lent);

/* What it holds when nothing is changed here; `otherwise` where it is not open. */
int ictusi_variable_lent_value(const struct lent *lent, int otherwise);

/* Change it; the first time, what it holds is kept. */
bool ictusi_variable_lent_write(struct lent *lent, int value);

/* Give it back as it was; true when there was nothing to give back. */
bool ictusi_variable_lent_restore(struct lent *lent);

/* The value of a name; false when it has none. */
bool ictusi_variable_value(const struct variable *variable, const char *name, int *value);

/*
 * Take the names of values out of MPICH's description, which runs them together: "Variable to
 * select barrier algorithmauto - Internal ...nb   - Force nonblocking algorithmsmp   - Force ...".
 * Values count from 0 in that order. Returns how many were found.
 */
int ictusi_variable_parse(const char *description, char text[][VARIABLE_NAME_MAX], int room);

#endif
