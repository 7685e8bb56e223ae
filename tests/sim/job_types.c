/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes, operators and topologies of a simulated job under MPI's own names, see job_blocks.h.
 */
#include "job_blocks.h"

#include "../check.h"

enum { TYPES = 64, OPERATORS = 16, FIRST_TYPE = 0x2000, FIRST_OPERATOR = 0x3000 };

static struct block_type types[TYPES];
static MPI_User_function *operators[OPERATORS];

const struct block_type *block_type(MPI_Datatype type)
{
    static const struct block_type narrow = {.unit = 1, .extent = 1, .count = 1};
    static const struct block_type whole = {.unit = 4, .extent = 4, .count = 1};
    static const struct block_type wide = {.unit = 8, .extent = 8, .count = 1};
    const intptr_t own = (intptr_t)type - FIRST_TYPE;
    if (own >= 0 && own < TYPES && types[own].count > 0) {
        return &types[own];
    }
    const bool is_wide = type == MPI_INT64_T || type == MPI_UINT64_T || type == MPI_DOUBLE ||
                         type == MPI_2INT || type == MPI_AINT;
    const bool is_narrow = type == MPI_CHAR || type == MPI_BYTE || type == MPI_C_BOOL;
    REQUIRE(is_wide || is_narrow || type == MPI_INT);
    return is_wide ? &wide : is_narrow ? &narrow : &whole;
}

size_t block_bytes(MPI_Datatype type, int count)
{
    const struct block_type *t = block_type(type);
    return (size_t)count * (size_t)t->count * t->unit;
}

/* Every place of every element, in turn, with the packed bytes beside it. */
static void block_walk(unsigned char *bytes, int count, MPI_Datatype type, unsigned char *packed,
                       bool packs)
{
    const struct block_type *t = block_type(type);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < t->count; k++, packed += t->unit) {
            unsigned char *at = bytes + (size_t)i * t->extent + t->places[k];
            memcpy(packs ? packed : at, packs ? at : packed, t->unit);
        }
    }
}

void block_pack(const void *bytes, int count, MPI_Datatype type, unsigned char *packed)
{
    block_walk((unsigned char *)(uintptr_t)bytes, count, type, packed, true);
}

void block_unpack(void *bytes, int count, MPI_Datatype type, const unsigned char *packed)
{
    block_walk(bytes, count, type, (unsigned char *)(uintptr_t)packed, false);
}

static int type_new(const struct block_type *type, MPI_Datatype *made)
{
    int i = 0;
    while (i < TYPES && types[i].count > 0) {
        i++;
    }
    REQUIRE(i < TYPES && type->count <= BLOCK_UNITS);
    types[i] = *type;
    *made = (MPI_Datatype)(intptr_t)(FIRST_TYPE + i);
    blocks_things[job_rank()]++;
    return MPI_SUCCESS;
}

/* So many elements at these places, in elements. */
static void type_add(struct block_type *type, int length, int place)
{
    for (int i = 0; i < length; i++) {
        REQUIRE(type->count < BLOCK_UNITS);
        type->places[type->count++] = (size_t)(place + i) * type->unit;
    }
    type->extent = (size_t)(place + length) * type->unit;
}

int MPI_Type_vector(int count, int length, int stride, MPI_Datatype element, MPI_Datatype *made)
{
    struct block_type type = {.unit = block_type(element)->unit};
    for (int i = 0; i < count; i++) {
        type_add(&type, length, i * stride);
    }
    return type_new(&type, made);
}

int MPI_Type_indexed(int count, const int lengths[], const int places[], MPI_Datatype element,
                     MPI_Datatype *made)
{
    struct block_type type = {.unit = block_type(element)->unit};
    for (int i = 0; i < count; i++) {
        type_add(&type, lengths[i], places[i]);
    }
    return type_new(&type, made);
}

int MPI_Type_contiguous(int count, MPI_Datatype element, MPI_Datatype *made)
{
    struct block_type type = {.unit = block_type(element)->unit};
    type_add(&type, count, 0);
    return type_new(&type, made);
}

int MPI_Type_create_resized(MPI_Datatype bare, MPI_Aint lower, MPI_Aint extent, MPI_Datatype *made)
{
    struct block_type type = *block_type(bare);
    REQUIRE(lower == 0);
    type.extent = (size_t)extent;
    return type_new(&type, made);
}

int MPI_Type_commit(MPI_Datatype *type)
{
    (void)type;
    return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype *type)
{
    const intptr_t own = (intptr_t)*type - FIRST_TYPE;
    REQUIRE(own >= 0 && own < TYPES && types[own].count > 0);
    types[own].count = 0;
    blocks_things[job_rank()]--;
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent)
{
    *lower = 0;
    *extent = (MPI_Aint)block_type(type)->extent;
    return MPI_SUCCESS;
}

int MPI_Op_create(MPI_User_function *function, int commutes, MPI_Op *made)
{
    int i = 0;
    (void)commutes;
    while (i < OPERATORS && operators[i] && operators[i] != function) {
        i++; /* ranks share it, since they must name the same one */
    }
    REQUIRE(i < OPERATORS);
    operators[i] = function;
    *made = (MPI_Op)(intptr_t)(FIRST_OPERATOR + i);
    blocks_things[job_rank()]++;
    return MPI_SUCCESS;
}

int MPI_Op_free(MPI_Op *op)
{
    blocks_things[job_rank()]--;
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

static int64_t reduced_number(MPI_Op op, int64_t a, int64_t b)
{
    return op == MPI_SUM    ? a + b
           : op == MPI_PROD ? a * b
           : op == MPI_MAX  ? (a > b ? a : b)
           : op == MPI_MIN  ? (a < b ? a : b)
           : op == MPI_LAND ? a && b
           : op == MPI_LOR  ? a || b
           : op == MPI_LXOR ? !a != !b
           : op == MPI_BAND ? (a & b)
           : op == MPI_BOR  ? (a | b)
                            : (a ^ b);
}

/* A value and its place. */
static void reduce_pair(MPI_Op op, const int *in, int *inout)
{
    const bool better = op == MPI_MAXLOC ? in[0] > inout[0] : in[0] < inout[0];
    REQUIRE(op == MPI_MAXLOC || op == MPI_MINLOC);
    if (better || (in[0] == inout[0] && in[1] < inout[1])) {
        memcpy(inout, in, 2 * sizeof(int));
    }
}

#define REDUCE_AS(ctype)                                                                           \
    do {                                                                                           \
        ctype a = 0;                                                                               \
        ctype b = 0;                                                                               \
        memcpy(&a, from, sizeof(a));                                                               \
        memcpy(&b, to, sizeof(b));                                                                 \
        b = (ctype)reduced_number(op, (int64_t)a, (int64_t)b);                                     \
        memcpy(to, &b, sizeof(b));                                                                 \
    } while (0)

static void reduce_one(MPI_Op op, MPI_Datatype type, const unsigned char *from, unsigned char *to)
{
    if (type == MPI_2INT) {
        int pairs[2][2];
        memcpy(pairs[0], from, sizeof(pairs[0]));
        memcpy(pairs[1], to, sizeof(pairs[1]));
        reduce_pair(op, pairs[0], pairs[1]);
        memcpy(to, pairs[1], sizeof(pairs[1]));
    } else if (type == MPI_DOUBLE) {
        REDUCE_AS(double);
    } else if (type == MPI_INT) {
        REDUCE_AS(int);
    } else if (type == MPI_CHAR) {
        REDUCE_AS(signed char);
    } else if (type == MPI_BYTE || type == MPI_C_BOOL) {
        REDUCE_AS(unsigned char);
    } else {
        REDUCE_AS(int64_t);
    }
}

void block_reduce(MPI_Op op, MPI_Datatype type, const void *in, void *inout, int count)
{
    const intptr_t own = (intptr_t)op - FIRST_OPERATOR;
    const size_t size = block_type(type)->extent;
    if (own >= 0 && own < OPERATORS) {
        operators[own]((void *)(uintptr_t)in, inout, &count, &type);
        return;
    }
    for (int i = 0; i < count; i++) {
        reduce_one(op, type, (const unsigned char *)in + (size_t)i * size,
                   (unsigned char *)inout + (size_t)i * size);
    }
}

int MPI_Get_library_version(char *version, int *length)
{
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "a simulated job");
    return MPI_SUCCESS;
}

int MPI_Initialized(int *flag)
{
    return PMPI_Initialized(flag);
}

int MPI_Error_string(int err, char *text, int *length)
{
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "error %d", err);
    return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return PMPI_Comm_rank(comm, rank);
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    return PMPI_Comm_size(comm, size);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    blocks_things[job_rank()]--;
    return PMPI_Comm_free(comm);
}

int MPI_Get_address(const void *place, MPI_Aint *address)
{
    *address = (MPI_Aint)(intptr_t)place;
    return MPI_SUCCESS;
}
