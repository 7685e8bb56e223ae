/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of datatypes and of reduction operations. */
#include "bench/datatype.h"

#include <ictus/bench.h>
#include <ictus/text.h>

#include <complex.h>
#include <stdbool.h>
#include <string.h>

/*
 * A damaged number is usually no small integer any more. It must not be rounded to one, or the
 * check would not find it.
 */
static int64_t datatype_whole(long double value)
{
    const long double most = (long double)(INT64_MAX / 2);
    const bool small = value > -most && value < most;
    return small && (long double)(int64_t)value == value ? (int64_t)value : INT64_MIN;
}

static int64_t datatype_whole_complex(double complex value)
{
    return cimag(value) == 0 ? datatype_whole(creal(value)) : INT64_MIN;
}

#define INTEGER(value) ((int64_t)(value))

/* Access to elements of one C type, by memcpy because the buffers have no declared type. */
#define ACCESS(name, ctype, value_of)                                                              \
    static void set_##name(void *element, int64_t value)                                           \
    {                                                                                              \
        const ctype converted = (ctype)value;                                                      \
        memcpy(element, &converted, sizeof(converted));                                            \
    }                                                                                              \
    static int64_t get_##name(const void *element)                                                 \
    {                                                                                              \
        ctype stored;                                                                              \
        memcpy(&stored, element, sizeof(stored));                                                  \
        return value_of(stored);                                                                   \
    }

ACCESS(int8, int8_t, INTEGER)
ACCESS(int16, int16_t, INTEGER)
ACCESS(int32, int32_t, INTEGER)
ACCESS(int64, int64_t, INTEGER)
ACCESS(uint8, uint8_t, INTEGER)
ACCESS(uint16, uint16_t, INTEGER)
ACCESS(uint32, uint32_t, INTEGER)
ACCESS(uint64, uint64_t, INTEGER)
ACCESS(float, float, datatype_whole)
ACCESS(double, double, datatype_whole)
ACCESS(long_double, long double, datatype_whole)
ACCESS(float_complex, float complex, datatype_whole_complex)
ACCESS(complex, double complex, datatype_whole_complex)

/*
 * A value and its location as one integer. The structures are those of MPI (MPI-3.1, section
 * 5.9.4).
 */
#define ACCESS_PAIR(name, ctype)                                                                   \
    struct name {                                                                                  \
        ctype value;                                                                               \
        int place;                                                                                 \
    };                                                                                             \
    static void set_##name(void *element, int64_t value)                                           \
    {                                                                                              \
        const int64_t whole_value = value / PAIR_PLACES;                                           \
        struct name converted;                                                                     \
        memset(&converted, 0, sizeof(converted));                                                  \
        converted.value = (ctype)whole_value;                                                      \
        converted.place = (int)(value % PAIR_PLACES);                                              \
        memcpy(element, &converted, sizeof(converted));                                            \
    }                                                                                              \
    static int64_t get_##name(const void *element)                                                 \
    {                                                                                              \
        struct name stored;                                                                        \
        memcpy(&stored, element, sizeof(stored));                                                  \
        const int64_t value = datatype_whole((long double)stored.value);                           \
        const bool sound =                                                                         \
            value >= 0 && value <= INT32_MAX && stored.place >= 0 && stored.place < PAIR_PLACES;   \
        return sound ? value * PAIR_PLACES + stored.place : INT64_MIN;                             \
    }

ACCESS_PAIR(int_pair, int)
ACCESS_PAIR(long_pair, long)
ACCESS_PAIR(float_pair, float)
ACCESS_PAIR(double_pair, double)

struct row {
    const char *name;
    enum type_class class;
    size_t size;
    void (*set)(void *element, int64_t value);
    int64_t (*get)(const void *element);
};

/* The MPI handle of row i is in datatype_handle(), because handles need not be constants. */
static const struct row rows[] = {
    {"char", CLASS_INTEGER, 1, set_int8, get_int8},
    {"byte", CLASS_BYTE, 1, set_uint8, get_uint8},
    {"int8", CLASS_INTEGER, 1, set_int8, get_int8},
    {"uint8", CLASS_INTEGER, 1, set_uint8, get_uint8},
    {"int16", CLASS_INTEGER, 2, set_int16, get_int16},
    {"uint16", CLASS_INTEGER, 2, set_uint16, get_uint16},
    {"int32", CLASS_INTEGER, 4, set_int32, get_int32},
    {"int", CLASS_INTEGER, 4, set_int32, get_int32},
    {"uint32", CLASS_INTEGER, 4, set_uint32, get_uint32},
    {"int64", CLASS_INTEGER, 8, set_int64, get_int64},
    {"uint64", CLASS_INTEGER, 8, set_uint64, get_uint64},
    {"float", CLASS_FLOAT, 4, set_float, get_float},
    {"double", CLASS_FLOAT, 8, set_double, get_double},
    {"long_double", CLASS_FLOAT, sizeof(long double), set_long_double, get_long_double},
    {"float_complex", CLASS_COMPLEX, 8, set_float_complex, get_float_complex},
    {"complex", CLASS_COMPLEX, 16, set_complex, get_complex},
    /* 0 or 1; read as an integer, so that a damaged value shows */
    {"bool", CLASS_LOGICAL, 1, set_uint8, get_uint8},
    {"2int", CLASS_PAIR, sizeof(struct int_pair), set_int_pair, get_int_pair},
    {"long_int", CLASS_PAIR, sizeof(struct long_pair), set_long_pair, get_long_pair},
    {"float_int", CLASS_PAIR, sizeof(struct float_pair), set_float_pair, get_float_pair},
    {"double_int", CLASS_PAIR, sizeof(struct double_pair), set_double_pair, get_double_pair},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static MPI_Datatype datatype_handle(int i)
{
    const MPI_Datatype handles[ROWS] = {
        MPI_CHAR,       MPI_BYTE,        MPI_INT8_T,          MPI_UINT8_T,
        MPI_INT16_T,    MPI_UINT16_T,    MPI_INT32_T,         MPI_INT,
        MPI_UINT32_T,   MPI_INT64_T,     MPI_UINT64_T,        MPI_FLOAT,
        MPI_DOUBLE,     MPI_LONG_DOUBLE, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX,
        MPI_C_BOOL,     MPI_2INT,        MPI_LONG_INT,        MPI_FLOAT_INT,
        MPI_DOUBLE_INT,
    };
    return handles[i];
}

int ictusi_datatype_find(const char *name, struct datatype *datatype, struct ictus_why *why)
{
    const char *names[ROWS + 1] = {NULL};
    for (int i = 0; i < ROWS; i++) {
        names[i] = rows[i].name;
        if (strcmp(name, rows[i].name) == 0) {
            *datatype = (struct datatype){rows[i].name, datatype_handle(i), rows[i].class,
                                          rows[i].size, rows[i].set,        rows[i].get};
            return ICTUS_OK;
        }
    }
    return ictus_unknown(why, "datatype", name, names);
}

size_t ictus_datatype_bytes(const char *name)
{
    struct datatype datatype;
    return name && ictusi_datatype_find(name, &datatype, NULL) == ICTUS_OK ? datatype.size : 0;
}

#define BIT(class) (1U << (class))
enum {
    ARITHMETIC = BIT(CLASS_INTEGER) | BIT(CLASS_FLOAT) | BIT(CLASS_COMPLEX),
    ORDERED = BIT(CLASS_INTEGER) | BIT(CLASS_FLOAT),
    LOGICAL = BIT(CLASS_INTEGER) | BIT(CLASS_LOGICAL),
    BITWISE = BIT(CLASS_INTEGER) | BIT(CLASS_BYTE),
    LOCATED = BIT(CLASS_PAIR),
    ANY_NUMBER = ARITHMETIC | LOGICAL | BITWISE,
    REDUCTIONS = 14
};

static size_t bytes_of(int length, MPI_Datatype type)
{
    MPI_Aint bound = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(type, &bound, &extent);
    return (size_t)length * (size_t)extent;
}

/* Functions for MPI_Op_create(), whose prototype MPI prescribes. */
static void user_first(void *in, void *inout, int *length, MPI_Datatype *type)
{
    memcpy(inout, in, bytes_of(*length, *type));
}

/*
 * Computes the same as MPI_BXOR. Libraries may choose other algorithms for operators that they do
 * not know.
 */
static void user_bxor(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const unsigned char *from = in;
    unsigned char *to = inout;
    for (size_t i = bytes_of(*length, *type); i > 0; i--) {
        *to++ ^= *from++;
    }
}

int ictusi_reduction_find(const char *name, struct reduction *reduction, struct ictus_why *why)
{
    /* Not static, because the handles of MPI need not be constants. */
    const struct reduction all[REDUCTIONS] = {
        {"sum", MPI_SUM, KIND_SUM, ARITHMETIC, NULL, false},
        {"prod", MPI_PROD, KIND_PROD, ARITHMETIC, NULL, false},
        {"max", MPI_MAX, KIND_MAX, ORDERED, NULL, false},
        {"min", MPI_MIN, KIND_MIN, ORDERED, NULL, false},
        {"land", MPI_LAND, KIND_LAND, LOGICAL, NULL, false},
        {"lor", MPI_LOR, KIND_LOR, LOGICAL, NULL, false},
        {"lxor", MPI_LXOR, KIND_LXOR, LOGICAL, NULL, false},
        {"band", MPI_BAND, KIND_BAND, BITWISE, NULL, false},
        {"bor", MPI_BOR, KIND_BOR, BITWISE, NULL, false},
        {"bxor", MPI_BXOR, KIND_BXOR, BITWISE, NULL, false},
        {"minloc", MPI_MINLOC, KIND_MINLOC, LOCATED, NULL, false},
        {"maxloc", MPI_MAXLOC, KIND_MAXLOC, LOCATED, NULL, false},
        {"user_bxor", MPI_OP_NULL, KIND_BXOR, BITWISE, user_bxor, true},
        {"user_first", MPI_OP_NULL, KIND_FIRST, ANY_NUMBER, user_first, false},
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

/*
 * The operators on the integers that stand for elements. A pair is one integer, whose order is that
 * of values and then of places.
 */
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
    case KIND_BXOR:
        return a ^ b;
    case KIND_MINLOC:
        /* equal values: the smaller location, which is the lower part of the integer */
        return a < b ? a : b;
    case KIND_MAXLOC:
        /* For equal values MPI gives the smaller location, which is the smaller integer. */
        if (a / PAIR_PLACES == b / PAIR_PLACES) {
            return a < b ? a : b;
        }
        return a > b ? a : b;
    default:
        return a; /* KIND_FIRST */
    }
}
