/* SPDX-License-Identifier: BSD-3-Clause */
#include "tracer/operands.h"

#include <stddef.h>

/* Several of C's and Fortran's types have one size and meaning, and the same name in ictus bench.
 */
enum {
    OPERANDS_LONG = sizeof(long) == 8 ? OPERANDS_INT64 : OPERANDS_INT32,
    OPERANDS_ULONG = sizeof(long) == 8 ? OPERANDS_UINT64 : OPERANDS_UINT32
};

/* Handles need not be constants, so the table cannot be static. The most frequent come first. */
enum operands_reduction ictusi_tracer_reduction(MPI_Op op)
{
    const struct {
        MPI_Op op;
        enum operands_reduction number;
    } known[] = {
        {MPI_SUM, OPERANDS_SUM},   {MPI_MAX, OPERANDS_MAX},       {MPI_MIN, OPERANDS_MIN},
        {MPI_PROD, OPERANDS_PROD}, {MPI_LAND, OPERANDS_LAND},     {MPI_LOR, OPERANDS_LOR},
        {MPI_LXOR, OPERANDS_LXOR}, {MPI_BAND, OPERANDS_BAND},     {MPI_BOR, OPERANDS_BOR},
        {MPI_BXOR, OPERANDS_BXOR}, {MPI_MINLOC, OPERANDS_MINLOC}, {MPI_MAXLOC, OPERANDS_MAXLOC}};
    for (size_t i = 0; op != MPI_OP_NULL && i < sizeof known / sizeof *known; i++) {
        if (known[i].op == op) {
            return known[i].number;
        }
    }
    return OPERANDS_REDUCTION_UNKNOWN;
}

/*
 * A library without Fortran may give MPI_DATATYPE_NULL for all of Fortran's types, so that handle
 * is not looked up.
 */
enum operands_type ictusi_tracer_type_number(struct recorder *r, MPI_Datatype type)
{
    const struct {
        MPI_Datatype type;
        int number;
    } known[] = {{MPI_DOUBLE, OPERANDS_DOUBLE},
                 {MPI_INT, OPERANDS_INT},
                 {MPI_FLOAT, OPERANDS_FLOAT},
                 {MPI_LONG, OPERANDS_LONG},
                 {MPI_UNSIGNED_LONG, OPERANDS_ULONG},
                 {MPI_LONG_LONG, OPERANDS_INT64},
                 {MPI_UNSIGNED_LONG_LONG, OPERANDS_UINT64},
                 {MPI_CHAR, OPERANDS_CHAR},
                 {MPI_BYTE, OPERANDS_BYTE},
                 {MPI_PACKED, OPERANDS_BYTE},
                 {MPI_SIGNED_CHAR, OPERANDS_INT8},
                 {MPI_UNSIGNED_CHAR, OPERANDS_UINT8},
                 {MPI_SHORT, OPERANDS_INT16},
                 {MPI_UNSIGNED_SHORT, OPERANDS_UINT16},
                 {MPI_UNSIGNED, OPERANDS_UINT32},
                 {MPI_LONG_DOUBLE, OPERANDS_LONG_DOUBLE},
                 {MPI_INT8_T, OPERANDS_INT8},
                 {MPI_UINT8_T, OPERANDS_UINT8},
                 {MPI_INT16_T, OPERANDS_INT16},
                 {MPI_UINT16_T, OPERANDS_UINT16},
                 {MPI_INT32_T, OPERANDS_INT32},
                 {MPI_UINT32_T, OPERANDS_UINT32},
                 {MPI_INT64_T, OPERANDS_INT64},
                 {MPI_UINT64_T, OPERANDS_UINT64},
                 {MPI_AINT, OPERANDS_INT64},
                 {MPI_OFFSET, OPERANDS_INT64},
                 {MPI_COUNT, OPERANDS_INT64},
                 {MPI_C_BOOL, OPERANDS_BOOL},
                 {MPI_C_FLOAT_COMPLEX, OPERANDS_FLOAT_COMPLEX},
                 {MPI_C_DOUBLE_COMPLEX, OPERANDS_COMPLEX},
                 {MPI_2INT, OPERANDS_2INT},
                 {MPI_LONG_INT, OPERANDS_LONG_INT},
                 {MPI_FLOAT_INT, OPERANDS_FLOAT_INT},
                 {MPI_DOUBLE_INT, OPERANDS_DOUBLE_INT},
                 {MPI_INTEGER, OPERANDS_INT},
                 {MPI_REAL, OPERANDS_FLOAT},
                 {MPI_DOUBLE_PRECISION, OPERANDS_DOUBLE},
                 {MPI_COMPLEX, OPERANDS_FLOAT_COMPLEX},
                 {MPI_DOUBLE_COMPLEX, OPERANDS_COMPLEX}};
    r->numbered = type;
    r->numbered_epoch = atomic_load_explicit(&ictusi_tracer.type_epoch, memory_order_relaxed);
    r->number = OPERANDS_TYPE_UNKNOWN;
    for (size_t i = 0; type != MPI_DATATYPE_NULL && i < sizeof known / sizeof *known; i++) {
        if (known[i].type == type) {
            r->number = (uint8_t)known[i].number;
            break;
        }
    }
    return (enum operands_type)r->number;
}
