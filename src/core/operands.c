/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/operands.h"

#include <stddef.h>
#include <string.h>

enum { TYPE_BITS = 0xff, REDUCTION_BITS = 0xff00, PLACE_BITS = 0x30000 };

const char *ictusi_operands_datatype(uint32_t operands)
{
    static const char *const names[OPERANDS_TYPES] = {
        [OPERANDS_CHAR] = "char",
        [OPERANDS_BYTE] = "byte",
        [OPERANDS_INT8] = "int8",
        [OPERANDS_UINT8] = "uint8",
        [OPERANDS_INT16] = "int16",
        [OPERANDS_UINT16] = "uint16",
        [OPERANDS_INT32] = "int32",
        [OPERANDS_INT] = "int",
        [OPERANDS_UINT32] = "uint32",
        [OPERANDS_INT64] = "int64",
        [OPERANDS_UINT64] = "uint64",
        [OPERANDS_FLOAT] = "float",
        [OPERANDS_DOUBLE] = "double",
        [OPERANDS_LONG_DOUBLE] = "long_double",
        [OPERANDS_FLOAT_COMPLEX] = "float_complex",
        [OPERANDS_COMPLEX] = "complex",
        [OPERANDS_BOOL] = "bool",
        [OPERANDS_2INT] = "2int",
        [OPERANDS_LONG_INT] = "long_int",
        [OPERANDS_FLOAT_INT] = "float_int",
        [OPERANDS_DOUBLE_INT] = "double_int",
    };
    const uint32_t type = operands & TYPE_BITS;
    return type < OPERANDS_TYPES ? names[type] : NULL;
}

const char *ictusi_operands_reduction(uint32_t operands)
{
    static const char *const names[OPERANDS_REDUCTIONS] = {
        [OPERANDS_SUM] = "sum",   [OPERANDS_PROD] = "prod",     [OPERANDS_MAX] = "max",
        [OPERANDS_MIN] = "min",   [OPERANDS_LAND] = "land",     [OPERANDS_LOR] = "lor",
        [OPERANDS_LXOR] = "lxor", [OPERANDS_BAND] = "band",     [OPERANDS_BOR] = "bor",
        [OPERANDS_BXOR] = "bxor", [OPERANDS_MINLOC] = "minloc", [OPERANDS_MAXLOC] = "maxloc",
    };
    const uint32_t reduction = (operands & REDUCTION_BITS) >> 8;
    return reduction < OPERANDS_REDUCTIONS ? names[reduction] : NULL;
}

static uint32_t operands_search(const char *(*name)(uint32_t), uint32_t count, uint32_t unit,
                                const char *wanted)
{
    for (uint32_t i = 1; wanted && i < count; i++) {
        if (strcmp(name(i * unit), wanted) == 0) {
            return i * unit;
        }
    }
    return 0;
}

uint32_t ictusi_operands_named(const char *datatype, const char *reduction)
{
    return operands_search(ictusi_operands_datatype, OPERANDS_TYPES, 1, datatype) |
           operands_search(ictusi_operands_reduction, OPERANDS_REDUCTIONS, 1 << 8, reduction);
}

uint32_t ictusi_operands_common(uint32_t a, uint32_t b)
{
    const uint32_t differ = a ^ b;
    uint32_t common = a;
    common &= differ & TYPE_BITS ? ~(uint32_t)TYPE_BITS : ~UINT32_C(0);
    common &= differ & REDUCTION_BITS ? ~(uint32_t)REDUCTION_BITS : ~UINT32_C(0);
    return common & (differ & PLACE_BITS ? ~(uint32_t)PLACE_BITS : ~UINT32_C(0));
}

uint32_t ictusi_operands_join(uint32_t a, uint32_t b)
{
    const uint32_t common = ictusi_operands_common(a, b) & ~(uint32_t)PLACE_BITS;
    const enum operands_place of_a = operands_place(a);
    const enum operands_place of_b = operands_place(b);
    return common | (uint32_t)(of_a > of_b ? of_a : of_b) << 16;
}
