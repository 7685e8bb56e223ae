/* SPDX-License-Identifier: BSD-3-Clause */
/* Reference clocks with simulated system calls and feeders. */
#include "lock/card.h"
#include "lock/reference.h"
#include "lock/reference_gpsd.h"
#include "lock/reference_phc.h"
#include "lock/reference_shm.h"
#include "lock/reference_sock.h"
#include "lock/stamp.h"
#include "lock/steer.h"

#include "../check.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Memory can be made unavailable for a while: the linker redirects calloc() here. */
static bool memory_is_out;
void *calloc_system(size_t n, size_t size) __asm__("__real_calloc");
void *calloc_scarce(size_t n, size_t size) __asm__("__wrap_calloc");

void *calloc_scarce(size_t n, size_t size)
{
    return memory_is_out ? NULL : calloc_system(n, size);
}

static const int64_t s = INT64_C(1000000000);
static const int64_t noon = INT64_C(1800000000000000000);

/* A pair of readings: 100 s on the raw clock is true noon. */
static struct timebase pair(void)
{
    const struct timebase base = {.raw = 100 * s, .real = noon, .started = true};
    return base;
}

static struct ptp_clock_time ptp(int64_t ns)
{
    const struct ptp_clock_time t = {.sec = ns / s, .nsec = (unsigned)(ns % s)};
    return t;
}

static void test_phc(void)
{
    struct ptp_sys_offset_extended a;
    struct sample sample;
    const struct timebase base = pair();
    memset(&a, 0, sizeof(a));
    CHECK(!ictusi_phc_sample(&a, &base, 37, &sample));
    a.n_samples = 3;
    for (int i = 0; i < 3; i++) {
        /*
         * The device shows TAI and is 250 ns ahead; the sandwiches are 900, 300 and 1500 ns wide.
         */
        static const int64_t width[] = {900, 300, 1500};
        const int64_t at = noon + i * 10000;
        a.ts[i][0] = ptp(at);
        a.ts[i][1] = ptp(at + width[i] / 2 + 37 * s + 250);
        a.ts[i][2] = ptp(at + width[i]);
    }
    REQUIRE(ictusi_phc_sample(&a, &base, 37, &sample));
    CHECK(sample.local == 100 * s + 10000 + 150);
    CHECK(sample.offset_ns + sample.local == noon + 10150 + 250);
    CHECK_NEAR(sample.delay_ns, 300, 0);
    CHECK_NEAR(sample.bound_ns, 150 + 100, 0); /* half of it, and the possible error of a stamp */
}

static int phc_fails(int fd, unsigned long request, void *argument)
{
    (void)fd;
    (void)argument;
    CHECK(request == PTP_SYS_OFFSET_EXTENDED);
    errno = EOPNOTSUPP;
    return -1;
}

static int pps_answers(int fd, unsigned long request, void *argument)
{
    struct pps_fdata *data = argument;
    CHECK(request == PPS_FETCH && data->timeout.sec == 0);
    struct timebase now = {0};
    (void)ictusi_timebase_read(&now);
    if (fd == 9) {
        errno = ETIMEDOUT;
        return -1;
    }
    data->info.assert_sequence = (unsigned)fd;
    data->info.assert_tu.sec = now.real / s;
    data->info.assert_tu.nsec = (int)(now.real % s);
    return 0;
}

static void test_devices(void)
{
    const struct device_calls bad = {.ioctl = phc_fails}, pps = {.ioctl = pps_answers};
    struct timebase base = {0};
    struct sample sample;
    unsigned sequence = 0;
    CHECK(ictusi_phc_read(&bad, 3, &base, 37, &sample) == ICTUS_ERR_IO);
    CHECK(ictusi_pps_read(&pps, 5, &base, 0, &sequence, &sample) == 1 && sequence == 5);
    CHECK((sample.offset_ns + sample.local) % s == 0); /* a pulse marks a whole second */
    CHECK(ictusi_pps_read(&pps, 5, &base, 0, &sequence, &sample) == 0); /* the same pulse */
    CHECK(ictusi_pps_read(&pps, 9, &base, 0, &sequence, &sample) == 0);
    struct pps_fdata answer;
    const struct timebase fixed = pair();
    memset(&answer, 0, sizeof(answer));
    CHECK(!ictusi_pps_sample(&answer, &fixed, 0, &sample));
    /* The system's clock is 0.7 s slow; a locked clock determines which second it was. */
    answer.info.assert_tu.sec = (noon - s) / s;
    answer.info.assert_tu.nsec = 999999000;
    REQUIRE(ictusi_pps_sample(&answer, &fixed, noon + 7 * s / 10, &sample));
    CHECK(sample.offset_ns + sample.local == noon + s);
}

static void test_shm(void)
{
    struct shm_segment seg;
    struct timebase base = pair();
    struct sample sample;
    memset(&seg, 0, sizeof(seg));
    CHECK(ictusi_shm_take(&seg, &base, &sample) == 0);
    seg.mode = 1;
    seg.valid = 1;
    seg.precision = -20;
    seg.local_s = (noon - s) / s;
    seg.local_us = 999990;
    seg.local_ns = 999990500;
    seg.reference_s = noon / s;
    REQUIRE(ictusi_shm_take(&seg, &base, &sample) == 1);
    CHECK(seg.valid == 0);
    CHECK(sample.local == 100 * s - 9500);
    CHECK(sample.offset_ns + sample.local == noon);
    CHECK_NEAR(sample.sigma_ns, 1e9 / 1048576 / 4, 1e-9); /* 2^-20 s, of which sigma is a quarter */
    CHECK_NEAR(sample.bound_ns, 1e9 / 1048576 + 1000, 1e-9);
    seg.valid = 1;
    seg.precision = -1; /* half a second: more than is believed */
    REQUIRE(ictusi_shm_take(&seg, &base, &sample) == 1);
    CHECK_NEAR(sample.sigma_ns, 1e6 / 4, 1e-9);
    CHECK_NEAR(sample.bound_ns, 5e8 + 1000, 1e-3);
    seg.valid = 1;
    seg.local_ns = 5; /* an old feeder: its nanoseconds contradict the microseconds */
    REQUIRE(ictusi_shm_take(&seg, &base, &sample) == 1);
    CHECK(sample.local == 100 * s - 10000);
    seg.valid = 1;
    seg.leap = 3;
    CHECK(ictusi_shm_take(&seg, &base, &sample) == 0);
    seg.leap = 0;
    seg.valid = 1;
    seg.local_s -= 3600; /* left behind by a dead feeder */
    CHECK(ictusi_shm_take(&seg, &base, &sample) == 0);
}

static void test_sock(void)
{
    struct timebase base = pair();
    struct sample sample;
    struct sock_message m = {.time = {.tv_sec = noon / s}, .offset = 0.25, .magic = 0x534f434b};
    REQUIRE(ictusi_sock_sample(&m, sizeof(m), &base, 0, &sample));
    CHECK(sample.local == 100 * s && sample.offset_ns + sample.local == noon + s / 4);
    CHECK(!ictusi_sock_sample(&m, sizeof(m) - 1, &base, 0, &sample));
    m.magic = 1;
    CHECK(!ictusi_sock_sample(&m, sizeof(m), &base, 0, &sample));
    m.magic = 0x534f434b;
    m.offset = NAN;
    CHECK(!ictusi_sock_sample(&m, sizeof(m), &base, 0, &sample));
    /*
     * For a pulse, the fraction counts. The second comes from the clock in force, which is 3 s
     * ahead of the system's.
     */
    m.offset = -0.125;
    m.pulse = 1;
    REQUIRE(ictusi_sock_sample(&m, sizeof(m), &base, noon + 3 * s, &sample));
    CHECK(sample.offset_ns + sample.local == noon + 3 * s - s / 8);
}

static void test_sock_socket(void)
{
    struct reference *reference = NULL;
    struct ictus_why why;
    struct sample samples[4];
    struct timebase base = {0};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char spec[128], directory[CHECK_PATH];
    REQUIRE(mkdtemp(check_scratch(directory, "sock")));
    REQUIRE(snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", directory) <
            (int)sizeof(address.sun_path));
    (void)snprintf(spec, sizeof(spec), "sock:%s", address.sun_path);
    REQUIRE(ictusi_reference_open(spec, &reference, &why) == ICTUS_OK);
    const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    struct sock_message m = {.offset = 0.001, .magic = 0x534f434b};
    REQUIRE(gettimeofday(&m.time, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        REQUIRE(sendto(fd, &m, sizeof(m), 0, (const struct sockaddr *)&address, sizeof(address)) ==
                (ssize_t)sizeof(m));
    }
    /* An invalid message, even an empty one, does not hide later ones. */
    REQUIRE(sendto(fd, "x", 1, 0, (const struct sockaddr *)&address, sizeof(address)) == 1);
    REQUIRE(sendto(fd, "", 0, 0, (const struct sockaddr *)&address, sizeof(address)) == 0);
    REQUIRE(sendto(fd, &m, sizeof(m), 0, (const struct sockaddr *)&address, sizeof(address)) ==
            (ssize_t)sizeof(m));
    CHECK(ictusi_reference_read(reference, &base, 0, samples, 4) == 3);
    const int64_t real = ictusi_timebase_real(&base, samples[0].local);
    CHECK_NEAR((double)(samples[0].offset_ns + samples[0].local - real), 1e6, 10);
    ictusi_reference_close(reference);
    CHECK(access(address.sun_path, F_OK) != 0 && rmdir(directory) == 0);
    (void)close(fd);
    static const char *const wrong[] = {"sock:",         "shm:-1",           "phc:/nonexistent",
                                        "pps:/dev/null", "gpsd:127.0.0.1:1", "sundial"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        why.text[0] = '\0';
        CHECK(ictusi_reference_open(wrong[i], &reference, &why) != ICTUS_OK);
        CHECK(why.text[0] != '\0');
    }
    /* a path that fills its room has none for its end */
    (void)snprintf(spec, sizeof(spec), "sock:%0*d", (int)sizeof(address.sun_path), 0);
    CHECK(ictusi_reference_open(spec, &reference, &why) == ICTUS_ERR_SPEC);
}

static void test_gpsd(void)
{
    const struct timebase base = pair();
    struct sample sample;
    /* As gpsd 3.22 writes it. */
    CHECK(
        ictusi_gpsd_sample("{\"class\":\"TOFF\",\"device\":\"/dev/ttyS0\",\"real_sec\":1800000000,"
                           "\"real_nsec\":0,\"clock_sec\":1800000000,\"clock_nsec\":123456789,"
                           "\"precision\":-2,\"shm\":\"NTP0\"}",
                           &base, &sample));
    CHECK(sample.local == 100 * s + 123456789);
    CHECK(sample.offset_ns + sample.local == noon && !sample.kernel);
    CHECK(ictusi_gpsd_sample("{\"class\":\"PPS\",\"real_sec\":1800000000,\"real_nsec\":0,"
                             "\"clock_sec\":1800000000,\"clock_nsec\":5}",
                             &base, &sample) &&
          sample.kernel);
    static const char *const wrong[] = {
        "",
        "{\"class\":\"TPV\"}",
        "{\"class\":\"TOFF\"}",
        "{\"class\":\"TOFF\",\"real_sec\":-1,\"real_nsec\":0,\"clock_sec\":1800000000,"
        "\"clock_nsec\":0}",
        "{\"class\":\"PPS\",\"real_sec\":99999999999999999999,\"real_nsec\":0,\"clock_sec\":1,"
        "\"clock_nsec\":0}",
        "{\"class\":\"PPS\",\"real_sec\":1800000000,\"real_nsec\":0,\"clock_sec\":1700000000,"
        "\"clock_nsec\":0}"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK(!ictusi_gpsd_sample(wrong[i], &base, &sample));
    }
}

/* Without memory no reference is opened, and the error says so. */
static void test_no_memory(void)
{
    static const char *const specs[] = {"gpsd:127.0.0.1:1", "phc:/dev/null", "pps:/dev/null",
                                        "sock:/tmp/ictus-no-memory"};
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        struct reference *reference = NULL;
        struct ictus_why why;
        memory_is_out = true;
        CHECK(ictusi_reference_open(specs[i], &reference, &why) == ICTUS_ERR_NOMEM);
        memory_is_out = false;
        CHECK(!reference);
    }
}

static int listen_on(int *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)*port)};
    socklen_t length = sizeof(at);
    const int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    REQUIRE(bind(fd, (const struct sockaddr *)(const void *)&at, sizeof(at)) == 0);
    REQUIRE(listen(fd, 1) == 0);
    REQUIRE(getsockname(fd, (struct sockaddr *)(void *)&at, &length) == 0);
    *port = ntohs(at.sin_port);
    return fd;
}

/* gpsd's greeting, then a current report in two pieces, and a pulse. */
static void report(int fd, const char *class)
{
    char line[256];
    const int64_t now = ictusi_timebase_real_now();
    const int length =
        snprintf(line, sizeof(line),
                 "{\"class\":\"%s\",\"real_sec\":%lld,\"real_nsec\":%lld,\"clock_sec\":%lld,"
                 "\"clock_nsec\":%lld}\n",
                 class, (long long)(now / s), (long long)(now % s), (long long)(now / s),
                 (long long)(now % s));
    REQUIRE(send(fd, line, 20, 0) == 20);
    REQUIRE(send(fd, line + 20, (size_t)length - 20, 0) == length - 20);
}

static int accept_watcher(int listener)
{
    char text[64];
    const int fd = accept(listener, NULL, NULL);
    const ssize_t got = fd < 0 ? -1 : recv(fd, text, sizeof(text), 0);
    REQUIRE(got > 7);
    CHECK(strncmp(text, "?WATCH=", 7) == 0);
    CHECK(memchr(text, '\n', (size_t)got)); /* till then gpsd waits for the rest */
    return fd;
}

/* gpsd over its connection: partial lines, a pulse, noise; then it dies and comes back. */
static void test_gpsd_socket(void)
{
    struct reference *reference = NULL;
    struct ictus_why why;
    struct sample samples[4];
    struct timebase base = {0};
    char spec[128];
    int port = 0;
    int listener = listen_on(&port);
    (void)snprintf(spec, sizeof(spec), "gpsd:127.0.0.1:%d", port);
    REQUIRE(ictusi_reference_open(spec, &reference, &why) == ICTUS_OK);
    int gpsd = accept_watcher(listener);
    CHECK(ictusi_reference_read(reference, &base, 0, samples, 4) == 0);
    report(gpsd, "TPV");
    report(gpsd, "TOFF");
    CHECK(ictusi_reference_read(reference, &base, 0, samples, 4) == 1 && !samples[0].kernel);
    CHECK_NEAR((double)(samples[0].offset_ns + samples[0].local - base.real), 0, 1e9);
    report(gpsd, "PPS");
    report(gpsd, "TOFF"); /* no longer listened to */
    CHECK(ictusi_reference_read(reference, &base, 0, samples, 4) == 1 && samples[0].kernel);
    static char noise[40000];
    memset(noise, 'x', sizeof(noise));
    REQUIRE(send(gpsd, noise, sizeof(noise), 0) == (ssize_t)sizeof(noise));
    REQUIRE(send(gpsd, "\n", 1, 0) == 1);
    report(gpsd, "PPS");
    CHECK(ictusi_reference_read(reference, &base, 0, samples, 4) == 1);
    (void)close(gpsd);
    CHECK(ictusi_reference_read(reference, &base, 0, samples, 4) == 0);
    /*
     * The connection is retried immediately and then occasionally; without pulses it is a plain
     * clock again.
     */
    CHECK(ictusi_reference_read(reference, &base, 0, samples, 4) == 0);
    gpsd = accept_watcher(listener);
    report(gpsd, "TOFF");
    CHECK(ictusi_reference_read(reference, &base, 0, samples, 4) == 1 && !samples[0].kernel);
    (void)close(gpsd);
    (void)close(listener);
    CHECK(ictusi_reference_read(reference, &base, 0, samples, 4) == 0);
    CHECK(ictusi_reference_read(reference, &base, 0, samples, 4) == 0); /* no server */
    ictusi_reference_close(reference);
}

/* A segment of the test's own, as a feeder would fill it. */
static void test_shm_segment(void)
{
    struct reference *reference = NULL;
    struct ictus_why why;
    struct sample samples[2];
    struct timebase base = {0};
    const int unit = 128 + getpid() % 128;
    char spec[32];
    const int id =
        shmget(0x4e545030 + unit, sizeof(struct shm_segment), IPC_CREAT | IPC_EXCL | 0600);
    if (id < 0) {
        return; /* it exists already, or there is no shared memory */
    }
    struct shm_segment *segment = shmat(id, NULL, 0);
    (void)snprintf(spec, sizeof(spec), "shm:%d", unit);
    const int err = ictusi_reference_open(spec, &reference, &why);
    CHECK(err == ICTUS_OK);
    if (!err && (intptr_t)segment != -1) {
        const int64_t now = ictusi_timebase_real_now();
        CHECK(ictusi_reference_read(reference, &base, 0, samples, 2) == 0);
        segment->mode = 0;
        segment->precision = -20;
        segment->local_s = segment->reference_s = now / s;
        segment->local_us = segment->reference_us = (int)(now % s / 1000);
        segment->valid = 1;
        CHECK(ictusi_reference_read(reference, &base, 0, samples, 2) == 1);
        segment->valid = 1; /* the same sample again */
        CHECK(ictusi_reference_read(reference, &base, 0, samples, 2) == 0);
        ictusi_reference_close(reference);
    }
    (void)shmdt(segment);
    (void)shmctl(id, IPC_RMID, NULL);
}

static int card_answers(int fd, unsigned long request, void *argument)
{
    struct ptp_sys_offset_extended *a = argument;
    CHECK(fd == 6 && request == PTP_SYS_OFFSET_EXTENDED && a->n_samples > 0);
    const int64_t now = ictusi_timebase_real_now();
    for (unsigned i = 0; i < a->n_samples; i++) {
        a->ts[i][0] = ptp(now);
        a->ts[i][1] = ptp(now + 40 + 12345 * s); /* the card counts from another origin */
        a->ts[i][2] = ptp(now + 80);
    }
    return 0;
}

static void test_card(void)
{
    const struct device_calls calls = {.ioctl = card_answers}, bad = {.ioctl = phc_fails};
    struct card card = {.fd = 6};
    struct timebase base = {0};
    char name[16] = "";
    REQUIRE(ictusi_card_compare(&calls, &card, &base) == ICTUS_OK);
    /* A stamp of the card taken now corresponds to the raw clock now. */
    const int64_t stamp = ictusi_timebase_real_now() + 12345 * s;
    CHECK_NEAR((double)(ictusi_card_raw(&card, stamp) - ictusi_timebase_raw_now()), 0, 1e7);
    CHECK(ictusi_card_compare(&bad, &card, &base) == ICTUS_ERR_IO);
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in local = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct ictus_why why = {""};
    local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (const struct sockaddr *)(const void *)&local, sizeof(local)) == 0) {
        CHECK(ictusi_card_interface(fd, name));
        CHECK_STR(name, "lo");
        CHECK(ictusi_card_open(fd, &card, &why) != ICTUS_OK); /* lo has no clock */
        CHECK(why.text[0] != '\0' && card.fd == -1);
    }
    (void)close(fd);
}

/* Without permission for stamps: the application's own, and one sentence about the reason. */
static void test_fallback(void)
{
    struct stamp_socket none = {.fd = -1};
    struct ictus_why why = {""};
    CHECK(ictusi_stamp_enable(&none, STAMP_KERNEL, &why) == STAMP_USER);
    CHECK(strstr(why.text, "refuses kernel time stamps") != NULL);
}

static struct timex seen;
static int calls;

static int record(struct timex *request)
{
    seen = *request;
    calls++;
    return 0;
}

/* Steering, with a simulated clock to steer. */
static void test_steer(void)
{
    struct steer steer;
    struct page_clock clock = {.state = ICTUS_LOCK_UNLOCKED, .slope = 2e-5, .bound_ns = 5e4};
    ictusi_steer_init(&steer);
    steer.adjust = record;
    ictusi_steer_apply(&steer, &clock, 3e9);
    CHECK(calls == 0); /* an unlocked clock steers nothing */
    clock.state = ICTUS_LOCK_LOCKED;
    ictusi_steer_apply(&steer, &clock, 4e3);
    CHECK(calls == 1 && (seen.modes & ADJ_FREQUENCY) && !(seen.modes & ADJ_SETOFFSET));
    /* 20 ppm of its own, and 4 us to be removed in 4 s: 1 ppm. */
    CHECK_NEAR((double)seen.freq / 65536.0, 19.0, 0.001);
    CHECK(seen.maxerror >= 50);
    /*
     * A larger offset is left to the kernel to remove, and the frequency is the oscillator's alone.
     */
    ictusi_steer_apply(&steer, &clock, 3e9);
    CHECK(calls == 3 && seen.modes == ADJ_OFFSET_SINGLESHOT); /* steps only at the start */
    CHECK(seen.offset == -3000000);
    ictusi_steer_release(&steer);
    CHECK(calls == 5 && seen.modes == ADJ_FREQUENCY);
    CHECK_NEAR((double)seen.freq / 65536.0, 20.0, 0.001);
    ictusi_steer_release(&steer);
    CHECK(calls == 5);
    ictusi_steer_init(&steer);
    steer.adjust = record;
    ictusi_steer_apply(&steer, &clock, 1.5e9);
    CHECK(calls == 7);
    CHECK_NEAR((double)seen.freq / 65536.0, 20.0, 0.001);
}

static int refuse(struct timex *request)
{
    errno = EPERM;
    return request->modes ? -1 : 0;
}

/* Missing privileges are reported before anything is done. */
static void test_steer_refused(void)
{
    struct steer steer;
    struct ictus_why why = {""};
    ictusi_steer_init(&steer);
    steer.adjust = refuse;
    CHECK(ictusi_steer_check(&steer, &why) == ICTUS_ERR_PERMISSION);
    CHECK(strstr(why.text, "CAP_SYS_TIME") != NULL);
    steer.adjust = record;
    CHECK(ictusi_steer_check(&steer, &why) == ICTUS_OK && seen.modes == ADJ_FREQUENCY);
}

int main(void)
{
    test_phc();
    test_devices();
    test_shm();
    test_sock();
    test_sock_socket();
    test_gpsd();
    test_gpsd_socket();
    test_no_memory();
    test_shm_segment();
    test_card();
    test_fallback();
    test_steer();
    test_steer_refused();
    return check_result();
}
