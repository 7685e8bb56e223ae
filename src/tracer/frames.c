/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds a function's unwind description, and from it the size of the function's frame at an
 * address.
 */
#include "tracer/frames.h"

#ifdef __x86_64__

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The DW_CFA_* instructions whose operands matter here or are not LEB128 numbers. */
enum frame_code {
    FRAME_ADVANCE1 = 0x02,
    FRAME_ADVANCE2 = 0x03,
    FRAME_ADVANCE4 = 0x04,
    FRAME_REMEMBER = 0x0a,
    FRAME_RESTORE = 0x0b,
    FRAME_DEFINE = 0x0c,
    FRAME_REGISTER = 0x0d,
    FRAME_OFFSET = 0x0e,
    FRAME_EXPRESSION = 0x10,
    FRAME_VALUE_EXPRESSION = 0x16,
};

/* DWARF's number of the stack pointer, and how deep remembered states may be nested. */
enum { STACK_POINTER = 7, REMEMBERED = 8 };

/* The end of a frame: an offset from the value of a register. */
struct frame_end {
    uint64_t base, offset;
};

/* The state while a description's instructions are read. */
struct frame_walk {
    const uint8_t *at, *end;
    uint64_t place; /* the code address from which the present state applies */
    uint64_t align;
    struct frame_end now, kept[REMEMBERED];
    int depth;
    bool lost; /* an unsupported instruction was found */
};

/* Read an unaligned number of some bytes. */
static uint64_t number_read(const uint8_t **at, size_t bytes)
{
    uint64_t number = 0;
    memcpy(&number, *at, bytes);
    *at += bytes;
    return number;
}

static int32_t number_relative(const uint8_t *at)
{
    return (int32_t)(uint32_t)number_read(&at, sizeof(int32_t));
}

/*
 * Read a LEB128 number: groups of 7 bits, little-endian, where the highest bit of each byte tells
 * whether another follows (DWARF 5, 7.6). Signed numbers are only ever skipped.
 */
static uint64_t number_leb(const uint8_t **at)
{
    uint64_t number = 0;
    uint8_t byte = 0;
    for (unsigned shift = 0;; shift += 7) {
        byte = *(*at)++;
        number |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (!(byte & 0x80)) {
            return number;
        }
    }
}

struct table_search {
    uint64_t address;
    const uint8_t *table; /* .eh_frame_hdr of the object that contains the address */
};

/*
 * Called by dl_iterate_phdr() for each loaded object until it returns nonzero. Subtracting before
 * comparing checks both bounds at once, because addresses below the segment wrap around to large
 * numbers.
 */
static int table_look(struct dl_phdr_info *info, size_t size, void *context)
{
    struct table_search *search = context;
    const uint8_t *table = NULL;
    bool inside = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uint64_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD) {
            inside = inside || search->address - begin < part->p_memsz;
        } else if (part->p_type == PT_GNU_EH_FRAME) {
            table = (const uint8_t *)(uintptr_t)begin;
        }
    }
    search->table = inside ? table : NULL;
    return inside;
}

/*
 * The description (FDE) of the last function that begins at or before the address. .eh_frame_hdr
 * contains a version, three bytes of encodings, a pointer to .eh_frame, the number of rows, and
 * then rows of two relative addresses (function, FDE), sorted by function. This is a binary search:
 * rows below low begin at or before the address, rows from high on after it.
 */
static const uint8_t *table_find(const uint8_t *table, uint64_t address)
{
    /* The usual form: version 1, all numbers of 4 bytes, those in the rows relative. */
    static const uint8_t form[] = {1, 0x1b, 0x03, 0x3b};
    if (!table || memcmp(table, form, sizeof(form)) != 0) {
        return NULL;
    }
    const uint8_t *count = table + 8;
    const uint8_t *const rows = table + 12;
    uint64_t low = 0;
    uint64_t high = number_read(&count, sizeof(uint32_t));
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if ((uint64_t)(uintptr_t)(table + number_relative(rows + 8 * middle)) <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? table + number_relative(rows + 8 * (low - 1) + 4) : NULL;
}

/* Skip an instruction that describes where registers are saved. */
static void walk_skip(struct frame_walk *walk, uint8_t code)
{
    /* The number of operands plus one; 0: not supported here. */
    static const uint8_t numbers[] = {[0x00] = 1, [0x05] = 3, [0x06] = 2, [0x07] = 2, [0x08] = 2,
                                      [0x09] = 3, [0x11] = 3, [0x14] = 3, [0x15] = 3, [0x2e] = 2};
    if (code == FRAME_EXPRESSION || code == FRAME_VALUE_EXPRESSION) {
        (void)number_leb(&walk->at);
        const uint64_t length = number_leb(&walk->at);
        walk->at += length;
        return;
    }
    walk->lost = code >= sizeof(numbers) || numbers[code] == 0;
    for (int i = 1; !walk->lost && i < numbers[code]; i++) {
        (void)number_leb(&walk->at);
    }
}

static void walk_remember(struct frame_walk *walk, uint8_t code)
{
    walk->lost = walk->depth == (code == FRAME_REMEMBER ? REMEMBERED : 0);
    if (walk->lost) {
        return;
    }
    if (code == FRAME_REMEMBER) {
        walk->kept[walk->depth++] = walk->now;
    } else {
        walk->now = walk->kept[--walk->depth];
    }
}

static void walk_long(struct frame_walk *walk, uint8_t code)
{
    switch (code) {
    case FRAME_ADVANCE1:
    case FRAME_ADVANCE2:
    case FRAME_ADVANCE4:
        walk->place += number_read(&walk->at, (size_t)1 << (code - FRAME_ADVANCE1)) * walk->align;
        break;
    case FRAME_REMEMBER:
    case FRAME_RESTORE:
        walk_remember(walk, code);
        break;
    case FRAME_DEFINE:
        walk->now.base = number_leb(&walk->at);
        walk->now.offset = number_leb(&walk->at);
        break;
    case FRAME_REGISTER:
        walk->now.base = number_leb(&walk->at);
        break;
    case FRAME_OFFSET:
        walk->now.offset = number_leb(&walk->at);
        break;
    default:
        walk_skip(walk, code);
    }
}

/*
 * Interpret instructions up to the first one that applies only beyond the address. Only the
 * canonical frame address (CFA), which is the end of the frame as base register plus offset, is
 * tracked, since it determines where the return address is. An address of UINT64_MAX runs all
 * instructions, as the common ones of a CIE require.
 */
static void walk_run(struct frame_walk *walk, const uint8_t *from, const uint8_t *end,
                     uint64_t address)
{
    walk->at = from;
    walk->end = end;
    while (walk->at < walk->end && walk->place <= address && !walk->lost) {
        const uint8_t code = *walk->at++;
        switch (code >> 6) {
        case 0:
            walk_long(walk, code);
            break;
        case 1:
            walk->place += (code & 0x3f) * walk->align;
            break;
        case 2: /* a register is saved */
            (void)number_leb(&walk->at);
            break;
        default: /* a register has its initial value */
            break;
        }
    }
}

/*
 * Read the common part (CIE) of a description. The last byte examined, 0x1b, is the encoding of
 * code addresses: relative to their own position, 4 bytes, signed (DW_EH_PE_pcrel |
 * DW_EH_PE_sdata4). Any other form is refused instead of guessed, because with a wrong frame size
 * an arbitrary word of the stack would be taken for a return address. @return whether it has the
 * usual form
 */
static bool walk_begin(struct frame_walk *walk, const uint8_t *common)
{
    /*
     * Version 1 with nothing but the encoding of addresses ("zR"): all code without landing pads.
     */
    static const uint8_t form[] = {0, 0, 0, 0, 1, 'z', 'R', 0};
    const uint8_t *at = common;
    const uint64_t length = number_read(&at, sizeof(uint32_t));
    const uint8_t *const end = at + length;
    if (memcmp(at, form, sizeof(form)) != 0) {
        return false;
    }
    at += sizeof(form);
    walk->align = number_leb(&at);
    (void)number_leb(&at); /* the data alignment factor */
    at++;                  /* the return address register */
    if (number_leb(&at) != 1 || *at++ != 0x1b) {
        return false;
    }
    walk_run(walk, at, end, UINT64_MAX);
    return !walk->lost;
}

/*
 * The end of the frame at an address within the code of a description (FDE). In .eh_frame, a
 * description has a length, the distance back to the common part, and the start of the code,
 * relative to its own position.
 */
static bool description_read(const uint8_t *description, uint64_t address, struct frame_end *end)
{
    struct frame_walk walk = {.lost = false};
    const uint8_t *at = description;
    const uint64_t length = number_read(&at, sizeof(uint32_t));
    const uint8_t *const behind = at + length;
    if (length == UINT32_MAX || !walk_begin(&walk, at - number_relative(at))) {
        return false;
    }
    const uint8_t *const begin = at + 4;
    at += 8;
    walk.place = (uint64_t)(uintptr_t)(begin + number_relative(begin));
    if (address - walk.place >= number_read(&at, sizeof(uint32_t))) {
        return false;
    }
    const uint64_t more = number_leb(&at);
    walk_run(&walk, at + more, behind, address);
    *end = walk.now;
    return !walk.lost;
}

int64_t ictusi_frame_words(uint64_t address)
{
    /* The address of the call itself: the return address may already belong to another function. */
    struct table_search search = {.address = address - 1};
    struct frame_end end = {0};
    if (!dl_iterate_phdr(table_look, &search)) {
        return -1;
    }
    const uint8_t *description = table_find(search.table, search.address);
    if (!description || !description_read(description, search.address, &end)) {
        return -1;
    }
    return end.base == STACK_POINTER && end.offset >= 8 && end.offset % 8 == 0
               ? (int64_t)(end.offset / 8)
               : -1;
}

#else

int64_t ictusi_frame_words(uint64_t address)
{
    (void)address;
    return -1;
}

#endif
