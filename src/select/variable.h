/* SPDX-License-Identifier: BSD-3-Clause */
/* One control variable of the MPI library as MPI_T presents it: an integer whose values have
 * names. */
#ifndef ICTUS_SELECT_VARIABLE_H
#define ICTUS_SELECT_VARIABLE_H

#include <mpi.h>
#include <stdbool.h>

enum { VARIABLE_VALUES_MAX = 32, VARIABLE_NAME_MAX = 64 };

struct variable {
    MPI_T_cvar_handle handle;
    bool is_int; /* false: one byte */
    int count;   /* of named values */
    int values[VARIABLE_VALUES_MAX];
    char text[VARIABLE_VALUES_MAX][VARIABLE_NAME_MAX];
};

/* A variable that is changed for some time and then restored. */
struct lent {
    struct variable variable;
    bool open;
    bool changed;
    int original; /* before it was changed */
};

/* Open variable `index` and find the names of its values. Local. Return false if it cannot be
 * used here. */
bool ictusi_variable_open(int index, struct variable *variable);

void ictusi_variable_close(struct variable *variable);

bool ictusi_variable_read(const struct variable *variable, int *value);

/* Write a value and read it back. Return false if it was not accepted. */
bool ictusi_variable_write(const struct variable *variable, int value);

/* Open a variable that will be changed for some time. Return false, and leave it closed, if it
 * is not an integer. */
bool ictusi_variable_lent_open(int index, struct lent *lent);

void ictusi_variable_lent_close(struct lent *lent);

/* Return the value that it has for everybody else, that is without the change made here. Return
 * `otherwise` if it is not open. */
int ictusi_variable_lent_value(const struct lent *lent, int otherwise);

/* Change the value. Before the first change, the original value is saved. */
bool ictusi_variable_lent_write(struct lent *lent, int value);

/* Restore the original value. Return true also if nothing was changed. */
bool ictusi_variable_lent_restore(struct lent *lent);

/* Find the value that has this name. Return false if there is none. */
bool ictusi_variable_value(const struct variable *variable, const char *name, int *value);

/*
 * Parse the names of values from MPICH's description, which joins them without separators:
 * "Variable to select barrier algorithmauto - Internal ...nb   - Force nonblocking algorithmsmp   -
 * Force ...". Values count from 0 in that order. Return the number of names found.
 */
int ictusi_variable_parse(const char *description, char text[][VARIABLE_NAME_MAX], int room);

#endif
