/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes and reduction operations by name, which of them may be combined, and their values as
 * integers.
 */
#ifndef ICTUS_BENCH_DATATYPE_H
#define ICTUS_BENCH_DATATYPE_H

#include <ictus/error.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The classes by which MPI says what may be reduced with what (MPI-3.1, section 5.9.2). */
enum type_class {
    CLASS_INTEGER,
    CLASS_FLOAT,
    CLASS_COMPLEX,
    CLASS_LOGICAL,
    CLASS_BYTE,
    CLASS_PAIR
};

struct datatype {
    const char *name;
    MPI_Datatype type;
    enum type_class class;
    size_t size; /* of one element in memory; pairs may be padded */
    /*
     * Store and load a small integer, which is exact in every type. A value that is no small
     * integer loads as INT64_MIN.
     */
    void (*set)(void *element, int64_t value);
    int64_t (*get)(const void *element);
};

/* The reductions as the check computes them. */
enum reduction_kind {
    KIND_SUM,
    KIND_PROD,
    KIND_MAX,
    KIND_MIN,
    KIND_LAND,
    KIND_LOR,
    KIND_LXOR,
    KIND_BAND,
    KIND_BOR,
    KIND_BXOR,
    KIND_MINLOC,
    KIND_MAXLOC,
    KIND_FIRST /* the value of the lowest rank */
};

/* A pair is represented by the integer value * PAIR_PLACES + location. */
enum { PAIR_PLACES = 1024 };

struct reduction {
    const char *name;
    MPI_Op op;
    enum reduction_kind kind;
    unsigned classes;        /* bits of enum type_class */
    MPI_User_function *user; /* for MPI_Op_create(); NULL if MPI has the operation */
    bool commutes;           /* whether the function of MPI_Op_create() is commutative */
};

/* Errors: ICTUS_ERR_UNKNOWN, with the most similar name as the reason. */
int ictusi_datatype_find(const char *name, struct datatype *datatype, struct ictus_why *why);

int ictusi_reduction_find(const char *name, struct reduction *reduction, struct ictus_why *why);

/* Whether MPI allows this reduction on this datatype. Errors: ICTUS_ERR_ARG with both names. */
int ictusi_reduction_fits(const struct reduction *reduction, const struct datatype *datatype,
                          struct ictus_why *why);

/* The reduction of two small integers, as the check expects it. */
int64_t ictusi_reduction_apply(enum reduction_kind kind, int64_t a, int64_t b);

#endif
