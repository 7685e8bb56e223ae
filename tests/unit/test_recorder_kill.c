/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that is killed leaves complete records, wherever it was: a child that records is
 * stopped after each instruction, and its window is read in that state.
 */
#include "../check.h"

#include "tracer/recorder.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WINDOW_WORDS = 512, ROUNDS = 8, STEPS_MOST = 2000000 };

/* Flushes come with switched windows, which do not occur here. */
void ictusi_recorder_flush(struct recorder *recorder)
{
    (void)recorder;
    CHECK_ABORT();
}

/*
 * Calls that are closed in place and calls that are not, refused calls, and records of all lengths.
 */
static void record_some(uint64_t *window)
{
    struct recorder r = {.pos = window};
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        const uint64_t words[2] = {i << 8 | 1, i << 8 | 2};
        recorder_timed_words(&r, RECORD_OPEN, 7, i * 1000, words, 1);
        uint64_t *const call = r.open = r.pos - 3;
        recorder_put2(&r, RECORD_SEND, 0, 1, words[0], words[1]);
        recorder_put4(&r, RECORD_COLL, 3, 1, words[0], words[1], i << 8 | 3, i << 8 | 4);
        if (i % 3 == 0) {
            recorder_timed_words(&r, RECORD_METRIC, 1, i * 1000 + 10, words, 2);
        }
        recorder_leave(&r, 7, i * 1000 + 20);
        if (i % 4 == 0) {
            recorder_refuse(call);
        }
        recorder_put1(&r, RECORD_IRECV, 0, 0, words[0]);
        recorder_put3(&r, RECORD_IRECV_DONE, 0, 1, words[0], words[1], i << 8 | 3);
    }
}

/* Whether a head will be replaced by another one in the end. */
static bool is_earlier(uint64_t head, uint64_t last)
{
    const uint64_t value = (uint64_t)UINT32_MAX << 32;
    const unsigned kind = record_kind(last);
    const bool call = kind == RECORD_CALL || kind == RECORD_REFUSED;
    return call && (head == (((last & ~value) & ~UINT64_C(0xff)) | RECORD_OPEN) ||
                    head == ((last & ~UINT64_C(0xff)) | RECORD_CALL));
}

/* @return the words in complete records; -1: one differs from what was recorded */
static long read_window(const uint64_t *window, const uint64_t *wanted)
{
    long at = 0;
    while (at < WINDOW_WORDS && window[at] != 0) {
        const unsigned words = record_words(wanted[at]);
        if (words == 0 || (window[at] != wanted[at] && !is_earlier(window[at], wanted[at])) ||
            memcmp(&window[at + 1], &wanted[at + 1], (words - 1) * sizeof(*window)) != 0) {
            return -1;
        }
        at += words;
    }
    return at;
}

static _Noreturn void child_records(uint64_t *window)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
        _exit(77);
    }
    (void)raise(SIGSTOP);
    record_some(window);
    _exit(0);
}

/* @return the child's exit code */
static int step_through(pid_t child, const uint64_t *window, const uint64_t *wanted)
{
    long before = 0;
    int torn = 0;
    int grown = 0;
    int status = 0;
    for (int step = 0; step < STEPS_MOST; step++) {
        REQUIRE(waitpid(child, &status, 0) == child);
        if (!WIFSTOPPED(status)) {
            break;
        }
        const long now = read_window(window, wanted);
        torn += now < before;
        grown += now > before;
        before = now;
        REQUIRE(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0);
    }
    CHECK(torn == 0);
    /* The window was checked after each record: no instruction publishes two of them. */
    CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 77 || grown >= 5 * ROUNDS));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
    static uint64_t wanted[WINDOW_WORDS];
    uint64_t *window = mmap(NULL, WINDOW_WORDS * sizeof(*window), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(window != MAP_FAILED);
    record_some(wanted);
    CHECK(read_window(wanted, wanted) > 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        child_records(window);
    }
    if (step_through(child, window, wanted) == 77) {
        printf("skipped: a process may not be traced here\n");
        return 77;
    }
    CHECK(memcmp(window, wanted, sizeof(wanted)) == 0);
    return check_result();
}
