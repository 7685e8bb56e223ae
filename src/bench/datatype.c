/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of datatypes and reductions. */
#include "bench/datatype.h"

#include <ictus/text.h>

#include <complex.h>
#include <stdbool.h>
#include <string.h>

/* Access to elements of one C type; memcpy, since buffers have no declared type. */
#define ACCESS(name, ctype)                                                                        \
    static void set_##name(void *element, int64_t value)                                           \
    {                                                                                              \
        const ctype converted = (ctype)value;                                                      \
        memcpy(element, &converted, sizeof(converted));                                            \
    }                                                                                              \
    static int64_t get_##name(const void *element)                                                 \
    {                                                                                              \
        ctype stored;                                                                              \
        memcpy(&stored, element, sizeof(stored));                                                  \
        return (int64_t)stored;                                                                    \
    }

ACCESS(int8, int8_t)
ACCESS(int16, int16_t)
ACCESS(int32, int32_t)
ACCESS(int64, int64_t)
ACCESS(uint8, uint8_t)
ACCESS(uint32, uint32_t)
ACCESS(uint64, uint64_t)
ACCESS(float, float)
ACCESS(double, double)
ACCESS(bool, bool)

static void set_complex(void *element, int64_t value)
{
    const double complex converted = (double)value;
    memcpy(element, &converted, sizeof(converted));
}

static int64_t get_complex(const void *element)
{
    double complex stored;
    memcpy(&stored, element, sizeof(stored));
    return (int64_t)creal(stored);
}

struct row {
    const char *name;
    enum type_class class;
    size_t size;
    void (*set)(void *element, int64_t value);
    int64_t (*get)(const void *element);
};

/* Beside the row of the same number stands its MPI handle, which no constant table can hold. */
static const struct row rows[] = {
    {"char", CLASS_INTEGER, 1, set_int8, get_int8},
    {"byte", CLASS_BYTE, 1, set_uint8, get_uint8},
    {"int8", CLASS_INTEGER, 1, set_int8, get_int8},
    {"uint8", CLASS_INTEGER, 1, set_uint8, get_uint8},
    {"int16", CLASS_INTEGER, 2, set_int16, get_int16},
    {"int32", CLASS_INTEGER, 4, set_int32, get_int32},
    {"int", CLASS_INTEGER, 4, set_int32, get_int32},
    {"uint32", CLASS_INTEGER, 4, set_uint32, get_uint32},
    {"int64", CLASS_INTEGER, 8, set_int64, get_int64},
    {"uint64", CLASS_INTEGER, 8, set_uint64, get_uint64},
    {"float", CLASS_FLOAT, 4, set_float, get_float},
    {"double", CLASS_FLOAT, 8, set_double, get_double},
    {"complex", CLASS_COMPLEX, 16, set_complex, get_complex},
    {"bool", CLASS_LOGICAL, 1, set_bool, get_bool},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static MPI_Datatype handle(int i)
{
    const MPI_Datatype handles[ROWS] = {
        MPI_CHAR,    MPI_BYTE,   MPI_INT8_T,           MPI_UINT8_T, MPI_INT16_T,
        MPI_INT32_T, MPI_INT,    MPI_UINT32_T,         MPI_INT64_T, MPI_UINT64_T,
        MPI_FLOAT,   MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX, MPI_C_BOOL,
    };
    return handles[i];
}

int ictusi_datatype_find(const char *name, struct datatype *datatype, struct ictus_why *why)
{
    const char *names[ROWS + 1] = {NULL};
    for (int i = 0; i < ROWS; i++) {
        names[i] = rows[i].name;
        if (strcmp(name, rows[i].name) == 0) {
            *datatype = (struct datatype){rows[i].name, handle(i),   rows[i].class,
                                          rows[i].size, rows[i].set, rows[i].get};
            return ICTUS_OK;
        }
    }
    return ictus_unknown(why, "datatype", name, names);
}

#define BIT(class) (1U << (class))
enum {
    ARITHMETIC = BIT(CLASS_INTEGER) | BIT(CLASS_FLOAT) | BIT(CLASS_COMPLEX),
    ORDERED = BIT(CLASS_INTEGER) | BIT(CLASS_FLOAT),
    LOGICAL = BIT(CLASS_INTEGER) | BIT(CLASS_LOGICAL),
    BITWISE = BIT(CLASS_INTEGER) | BIT(CLASS_BYTE),
    REDUCTIONS = 10
};

int ictusi_reduction_find(const char *name, struct reduction *reduction, struct ictus_why *why)
{
    const struct reduction all[REDUCTIONS] = {
        {"sum", MPI_SUM, KIND_SUM, ARITHMETIC}, {"prod", MPI_PROD, KIND_PROD, ARITHMETIC},
        {"max", MPI_MAX, KIND_MAX, ORDERED},    {"min", MPI_MIN, KIND_MIN, ORDERED},
        {"land", MPI_LAND, KIND_LAND, LOGICAL}, {"lor", MPI_LOR, KIND_LOR, LOGICAL},
        {"lxor", MPI_LXOR, KIND_LXOR, LOGICAL}, {"band", MPI_BAND, KIND_BAND, BITWISE},
        {"bor", MPI_BOR, KIND_BOR, BITWISE},    {"bxor", MPI_BXOR, KIND_BXOR, BITWISE},
    };
    const char *names[REDUCTIONS + 1] = {NULL};
    for (int i = 0; i < REDUCTIONS; i++) {
        names[i] = all[i].name;
        if (strcmp(name, all[i].name) == 0) {
            *reduction = all[i];
            return ICTUS_OK;
        }
    }
    return ictus_unknown(why, "reduction operation", name, names);
}

int ictusi_reduction_fits(const struct reduction *reduction, const struct datatype *datatype,
                          struct ictus_why *why)
{
    if (reduction->classes & BIT(datatype->class)) {
        return ICTUS_OK;
    }
    return ictus_because(why, ICTUS_ERR_ARG, "MPI cannot reduce '%s' with '%s'", datatype->name,
                         reduction->name);
}

int64_t ictusi_reduction_apply(enum reduction_kind kind, int64_t a, int64_t b)
{
    switch (kind) {
    case KIND_SUM:
        return a + b;
    case KIND_PROD:
        return a * b;
    case KIND_MAX:
        return a > b ? a : b;
    case KIND_MIN:
        return a < b ? a : b;
    case KIND_LAND:
        return a && b;
    case KIND_LOR:
        return a || b;
    case KIND_LXOR:
        return !a != !b;
    case KIND_BAND:
        return a & b;
    case KIND_BOR:
        return a | b;
    default:
        return a ^ b;
    }
}
