/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Call sites: each place in the program has one number, which is reported once with the file and
 * the offset of the place in it, and there are no more places than numbers. The size of a caller's
 * frame is known if it is the same each time.
 */
#include "../check.h"

#include "tracer/frames.h"
#include "tracer/sites.h"
#include "tracer/tracer.h"

#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct sites sites;
static char said[8192];
static uint64_t said_count;

void ictusi_tracer_log(const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    (void)vsnprintf(said, sizeof(said), format, rest);
    va_end(rest);
    said_count++;
}

static uint64_t number_of(uint64_t address)
{
    return sites_number(&sites, address, NULL);
}

/* The object that contains an address, and where it is loaded. */
struct holder {
    uint64_t address, base;
};

static int holder_look(struct dl_phdr_info *info, size_t size, void *context)
{
    struct holder *holder = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uint64_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && holder->address >= from &&
            holder->address < from + info->dlpi_phdr[i].p_memsz) {
            holder->base = info->dlpi_addr;
            return 1;
        }
    }
    return 0;
}

/*
 * The line of the log: a number and the offset of the call before the return, once the file exists.
 */
static void place_is_told(uint64_t address, const char *file_end)
{
    struct holder holder = {.address = address};
    char *rest = NULL;
    struct stat file;
    const uint64_t got = number_of(address);
    REQUIRE(strncmp(said, "Q\t", 2) == 0);
    const uint64_t number = strtoull(said + 2, &rest, 10);
    const uint64_t offset = strtoull(rest, &rest, 16);
    const int64_t made = strtoll(rest, &rest, 10);
    REQUIRE(*rest == '\t');
    const char *name = rest + 1;
    REQUIRE(dl_iterate_phdr(holder_look, &holder) == 1);
    CHECK(number == got && offset == address - 1 - holder.base);
    REQUIRE(stat(name, &file) == 0);
    CHECK(made == (int64_t)file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec);
    const size_t length = strlen(name);
    CHECK(length >= strlen(file_end) && strcmp(name + length - strlen(file_end), file_end) == 0);
}

static void places_are_told(void)
{
    char program[4096] = "";
    REQUIRE(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
    place_is_told((uint64_t)(uintptr_t)&places_are_told + 2, program);
    CHECK(said_count == 1);
    place_is_told((uint64_t)(uintptr_t)&dl_iterate_phdr + 2, "");
    CHECK(strstr(said, "/libc") || strstr(said, "/ld-"));
    CHECK(said_count == 2);
}

/* Whether all places up to the last number have their own, now and when they are seen again. */
static bool numbers_are_own(uint64_t from, uint64_t step, uint64_t before)
{
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = before + 1; i < SITE_NUMBERS; i++) {
            if (number_of(from + i * step) != i) {
                return false;
            }
        }
    }
    return true;
}

/* Numbers run out before slots do; places that share a number keep it too. */
static void numbers_are_kept(void)
{
    const uint64_t step = 24;
    const uint64_t from = 0x10000;
    const uint64_t before = sites.last;
    CHECK(numbers_are_own(from, step, before));
    for (uint64_t i = 0; i < 100; i++) { /* no number is left, and none is given twice */
        CHECK(number_of(from + (SITE_NUMBERS + i) * step) == 0);
    }
    CHECK(number_of(from + (before + 1) * step) == before + 1);
    CHECK(number_of(from + (SITE_NUMBERS - 1) * step) == SITE_NUMBERS - 1);
}

static void nonsense_has_no_number(void)
{
    const uint64_t before = sites.last;
    CHECK(number_of(0) == 0);
    CHECK(number_of(UINT64_C(1) << 48) == 0);
    CHECK(number_of(UINT64_MAX) == 0);
    CHECK(sites.last == before);
    CHECK(number_of((UINT64_C(1) << 48) - 1) == before + 1);
}

#ifdef __x86_64__
/* Functions that call the given one from frames with known sizes. */
#define FRAME(name, body)                                                                          \
    void name(void (*called)(void));                                                               \
    __asm__(".pushsection .text\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" body    \
            "ret\n.cfi_endproc\n.size " #name ", . - " #name "\n.popsection\n")
#define GROW "subq $24, %rsp\n.cfi_def_cfa_offset 32\n"
#define SHRINK "addq $24, %rsp\n.cfi_def_cfa_offset 8\n"
#define CALL "call *%rdi\n"

FRAME(frame_small, GROW CALL SHRINK);
FRAME(frame_large, "subq $4104, %rsp\n.cfi_def_cfa_offset 4112\n.cfi_offset 3, -24\n" CALL
                   "addq $4104, %rsp\n.cfi_def_cfa_offset 8\n");
/* The known size was stated some bytes before the call, and again after an early exit. */
FRAME(frame_far,
      GROW ".fill 100, 1, 0x90\n.cfi_undefined 12\n.fill 300, 1, 0x90\n.cfi_same_value 13\n"
           ".fill 70000, 1, 0x90\n.cfi_register 14, 15\n" CALL SHRINK);
FRAME(frame_ways, GROW ".cfi_remember_state\ntestq %rdi, %rdi\njnz 1f\n" SHRINK
                       "ret\n1:\n.cfi_restore_state\n" CALL SHRINK);
/* As in a frame with a part whose size is known only at run time. */
FRAME(frame_pointer, "pushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6, -16\nmovq %rsp, %rbp\n"
                     ".cfi_def_cfa_register 6\n" CALL "popq %rbp\n.cfi_def_cfa 7, 8\n");

static int64_t frame_words;

static void frame_called(void)
{
    frame_words = ictusi_frame_words(site_address(SITE_FROM()));
}

static int64_t words_of(void (*frame)(void (*called)(void)))
{
    frame_words = 0;
    frame(frame_called);
    return frame_words;
}

static void frames_are_known(void)
{
    CHECK(words_of(frame_small) == 4);
    CHECK(words_of(frame_large) == 514);
    CHECK(words_of(frame_far) == 4);
    CHECK(words_of(frame_ways) == 4);
    CHECK(words_of(frame_pointer) == -1);
}
#else
static void frames_are_known(void)
{
}
#endif

static void frames_are_of_code(void)
{
    CHECK(ictusi_frame_words(8) == -1);
    CHECK(ictusi_frame_words((uint64_t)(uintptr_t)&sites) == -1);
}

int main(void)
{
    frames_are_known();
    frames_are_of_code();
    places_are_told();
    nonsense_has_no_number();
    numbers_are_kept();
    return check_result();
}
