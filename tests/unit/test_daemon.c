/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemons themselves on the loopback interface, with real sockets and stamps, against each
 * other and against misbehaving servers. No privileges are needed and no clock is changed.
 */
#include "lock/keeper.h"
#include "lock/metrics.h"

#include "daemon.h"

#include <errno.h>
#include <ictus/lock_daemon.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a daemon has reported. */
struct heard {
    int polls, first, accepted, lost, refused, kiss, steps, holdover, interleaved, kernel;
    int violations; /* of the bound: both clocks are this machine's */
    int messages;
    char last[256];
};

static void on_poll(const struct ictus_lock_poll *poll, void *context)
{
    struct heard *h = context;
    h->polls++;
    h->first += strcmp(poll->event, "first") == 0;
    h->accepted += strcmp(poll->event, "accepted") == 0;
    h->lost += strcmp(poll->event, "lost") == 0;
    h->refused += strcmp(poll->event, "refused") == 0;
    h->kiss += strcmp(poll->event, "kiss") == 0;
    h->steps += strcmp(poll->event, "step") == 0;
    h->holdover += poll->state == ICTUS_LOCK_HOLDOVER;
    h->interleaved += poll->interleaved;
    h->kernel += poll->kernel;
    h->violations += poll->state != ICTUS_LOCK_UNLOCKED && fabs(poll->clock_ns) > poll->bound_ns;
}

static void on_message(const char *text, void *context)
{
    struct heard *h = context;
    h->messages++;
    (void)snprintf(h->last, sizeof(h->last), "%s", text);
}

/* A server on a crowded machine answers late; for tests in which no answer may be lost. */
#define PATIENT_S 1.0

static struct ictus_lock_options options_for(struct heard *heard, const char *servers)
{
    const struct ictus_lock_options o = {.size = sizeof(o),
                                         .servers = servers,
                                         .name = "unit",
                                         .directory = directory,
                                         .user = geteuid() == 0 ? "root" : NULL,
                                         .stamps = ICTUS_STAMPS_KERNEL,
                                         .policy = ICTUS_LOCK_FIXED,
                                         .interleaved = true,
                                         .exchanges = 4,
                                         .polls = 8,
                                         .spacing_s = 3e-4,
                                         .timeout_s = 0.05,
                                         .sigma_s = 1e-5,
                                         .tconf_s = 300.0,
                                         .tmin_s = 0.02,
                                         .tmax_s = 1.0,
                                         .wander = 1e-6,
                                         .max_distance_s = 3.0,
                                         .makestep_s = 0.01,
                                         .on_poll = on_poll,
                                         .on_message = on_message,
                                         .context = heard};
    memset(heard, 0, sizeof(*heard));
    return o;
}

/* What an HTTP client receives. */
static void fetch(int port, char *text, size_t size)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t length = 0;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (const struct sockaddr *)(const void *)&at, sizeof(at)) == 0 &&
        send(fd, "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL) == 18) {
        ssize_t got = 0;
        while (length + 1 < size && (got = recv(fd, text + length, size - 1 - length, 0)) > 0) {
            length += (size_t)got;
        }
    }
    text[length] = '\0';
    (void)close(fd);
}

/* The page that a lock left behind. */
static void check_page(int stratum)
{
    static struct ictus_lock_status status;
    static char text[24576];
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    REQUIRE(ictus_lock_open("unit", directory, &lock, &why) == ICTUS_OK);
    CHECK(ictus_lock_status(lock, &status) == ICTUS_OK);
    CHECK(status.stratum == stratum && status.source_count == 1 && !status.alive);
    CHECK(status.now.state == ICTUS_LOCK_HOLDOVER); /* the daemon has gone */
    CHECK(status.sources[0].selection == ICTUS_SOURCE_SELECTED);
    CHECK(status.sources[0].received >= 8 && status.sources[0].delay_ns > 0.0);
    CHECK(ictusi_lock_metrics_text(&status, text, sizeof(text)) == strlen(text));
    CHECK(strstr(text, "\nictus_lock_state 2\n") && strstr(text, "selection=\"selected\""));
    ictus_lock_close(lock);
}

static void follow(struct ictus_lock_options *o, struct heard *heard, int stratum)
{
    struct ictus_why why = {""};
    o->timeout_s = PATIENT_S;
    CHECK(ictus_lock_run(o, &why) == ICTUS_OK);
    CHECK(heard->polls == 8 && heard->first == 1 && heard->accepted >= 4);
    CHECK(heard->violations == 0);
    check_page(stratum);
}

static void test_follow(void)
{
    struct heard heard;
    char server[64], metrics[16];
    const int port = free_port(SOCK_DGRAM), web = free_port(SOCK_STREAM);
    struct ictus_serve_options serve = serve_options(port);
    (void)snprintf(metrics, sizeof(metrics), "%d", web);
    serve.metrics = metrics;
    serve.allow = "127.0.0.0/8,::1/128";
    const pid_t server_pid = spawn(run_serve, &serve);
    REQUIRE(wait_answer(port));
    (void)snprintf(server, sizeof(server), "127.0.0.1:%d", port);
    struct ictus_lock_options o = options_for(&heard, server);
    follow(&o, &heard, 4);
    CHECK(heard.interleaved >= 6 && heard.kernel >= 6);
    /* There is no card here: the kernel's stamps are used, with a message. */
    o = options_for(&heard, server);
    o.stamps = ICTUS_STAMPS_HARDWARE;
    o.loop = ICTUS_LOCK_FLL;
    o.policy = ICTUS_LOCK_BEST;
    follow(&o, &heard, 4);
    CHECK(heard.messages >= 1 && heard.kernel >= 6);
    o = options_for(&heard, server);
    o.stamps = ICTUS_STAMPS_USER;
    o.interleaved = false;
    o.keep_first = true;
    o.exchanges = 1;
    o.loop = ICTUS_LOCK_PLL;
    o.policy = ICTUS_LOCK_TARGET;
    follow(&o, &heard, 4);
    CHECK(heard.interleaved == 0 && heard.kernel == 0);
    /* Like the two above, but with this server only. */
    (void)snprintf(server, sizeof(server), "127.0.0.1:%d/basic/exchanges=2/tmin=50ms", port);
    o = options_for(&heard, server);
    follow(&o, &heard, 4);
    CHECK(heard.interleaved == 0 && heard.kernel >= 6);
    (void)snprintf(server, sizeof(server), "[::1]:%d", port);
    o = options_for(&heard, server);
    if (ictus_lock_run(&o, NULL) == ICTUS_OK) {
        CHECK(heard.violations == 0);
        check_page(4);
    }
    char text[4096];
    fetch(web, text, sizeof(text));
    CHECK(strstr(text, "200 OK") && strstr(text, "\nictus_serve_stratum 3\n"));
    CHECK(strstr(text, "\nictus_serve_denied_total 0\n"));
    CHECK_NEAR(stop(server_pid), 0, 0);
}

static void test_at(void)
{
    struct ictus_lock *lock = NULL;
    struct ictus_lock_reading now;
    struct ictus_at_report report;
    struct ictus_why why;
    char *yes[] = {"sh", "-c", "exit 7", NULL}, *no[] = {"/nonexistent/program", NULL};
    REQUIRE(ictus_lock_open("unit", directory, &lock, &why) == ICTUS_OK);
    REQUIRE(ictus_lock_now(lock, &now) == ICTUS_OK);
    struct ictus_at_start start = {
        .instant = {now.time.ns + 60000000}, .command = yes, .tolerance_ns = 1e9};
    CHECK(ictus_at_run(lock, &start, &report, &why) == ICTUS_OK);
    CHECK(report.lateness_ns >= 0.0 && report.sigma_ns > 0.0 && report.bound_ns > 0.0);
    CHECK(WIFEXITED(report.status) && WEXITSTATUS(report.status) == 7);
    start.command = no;
    start.instant.ns += 100000000;
    CHECK(ictus_at_run(lock, &start, &report, &why) == ICTUS_ERR_IO);
    CHECK(strstr(why.text, "/nonexistent/program") != NULL);
    start.command = yes;
    start.instant.ns -= INT64_C(10000000000);
    CHECK(ictus_at_run(lock, &start, &report, &why) == ICTUS_ERR_TIMEOUT);
    start.tolerance_ns = 1e-3;
    CHECK(ictus_at_run(lock, &start, &report, &why) == ICTUS_ERR_TOLERANCE);
    start.use_bound = true;
    CHECK(ictus_at_run(lock, &start, &report, &why) == ICTUS_ERR_TOLERANCE);
    CHECK(strstr(why.text, "by its bound") != NULL);
    CHECK(ictus_at_run(NULL, &start, &report, &why) == ICTUS_ERR_ARG);
    ictus_lock_close(lock);
}

/* A server, a lock on it, a server of that lock, and its answers: the whole chain. */
static void test_chain(void)
{
    struct heard heard;
    struct packet reply = {0};
    struct ictus_why why;
    char server[64], metrics[16], text[16384];
    const int port = free_port(SOCK_DGRAM), second = free_port(SOCK_DGRAM);
    const int web = free_port(SOCK_STREAM);
    const struct ictus_serve_options serve = serve_options(port);
    const pid_t server_pid = spawn(run_serve, &serve);
    REQUIRE(wait_answer(port));
    (void)snprintf(server, sizeof(server), "127.0.0.1:%d", port);
    (void)snprintf(metrics, sizeof(metrics), "%d", web);
    struct ictus_lock_options o = options_for(&heard, server);
    o.polls = 0;
    o.metrics = metrics;
    o.on_poll = NULL;
    const pid_t lock_pid = spawn(run_lock, &o);
    for (int i = 0; i < 500; i++) {
        fetch(web, text, sizeof(text));
        /* The clock is published a moment before what is told of it. */
        if (strstr(text, "\nictus_lock_state 1\n") && strstr(text, "\nictus_lock_stratum 4\n")) {
            break;
        }
        sleep_ms(10);
    }
    CHECK(strstr(text, "\nictus_lock_state 1\n") != NULL);
    CHECK(strstr(text, "\nictus_lock_stratum 4\n") != NULL);
    /* The name is in use, and the message says by which process. */
    CHECK(ictus_lock_run(&o, &why) == ICTUS_ERR_EXISTS);
    CHECK(strstr(why.text, "already kept by process") != NULL);
    struct ictus_serve_options of_lock = serve_options(second);
    of_lock.system_clock = false;
    of_lock.address = "127.0.0.1";
    const pid_t second_pid = spawn(run_serve, &of_lock);
    REQUIRE(wait_answer(second));
    sleep_ms(20);
    CHECK(ask(second, &reply) && reply.stratum == 4 && reply.leap == 0);
    CHECK(reply.root_dispersion_ns > 0.0 && reply.origin == 77);
    CHECK_NEAR(stop(lock_pid), 0, 0);
    CHECK_NEAR(stop(second_pid), 0, 0);
    CHECK_NEAR(stop(server_pid), 0, 0);
    test_at();
}

enum mischief { DENY, RATE, UNSYNCHRONISED, NOISE, TWICE, MUTE, JUMP };

/* Answer like a server that misbehaves in this way, forever. */
_Noreturn static void misbehave(int fd, enum mischief mischief)
{
    uint8_t bytes[PACKET_MAX];
    for (int asked = 0;; asked++) {
        struct sockaddr_in from;
        struct packet request;
        socklen_t length = sizeof(from);
        const ssize_t got =
            recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)(void *)&from, &length);
        const int64_t now = ictusi_timebase_real_now() +
                            (mischief == JUMP && asked >= 24 ? INT64_C(1000000000) : 0);
        if (got < 0 || !ictusi_packet_decode(bytes, (size_t)got, &request) ||
            (mischief == MUTE && asked >= 16)) {
            continue;
        }
        struct packet reply = {.version = 4,
                               .mode = PACKET_SERVER,
                               .stratum = mischief <= RATE             ? 0
                                          : mischief == UNSYNCHRONISED ? 16
                                                                       : 2,
                               .reference_id = mischief == DENY   ? UINT32_C(0x44454e59)
                                               : mischief == RATE ? UINT32_C(0x52415445)
                                                                  : 1,
                               .origin = request.transmit,
                               .receive = ictusi_packet_stamp(now),
                               .transmit = ictusi_packet_stamp(now + 500)};
        reply.reference = reply.receive - (UINT64_C(1) << 32);
        ictusi_packet_encode(&reply, bytes);
        if (mischief == NOISE) {
            (void)!getrandom(bytes, PACKET_BYTES, 0);
        }
        for (int i = 0; i < (mischief == TWICE ? 2 : 1); i++) {
            (void)sendto(fd, bytes, PACKET_BYTES, 0, (const struct sockaddr *)(void *)&from,
                         length);
        }
    }
}

/* The page counts each kind of poll as the log reported it. */
static void check_counts(const struct heard *heard)
{
    static struct ictus_lock_status status;
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    REQUIRE(ictus_lock_open("unit", directory, &lock, &why) == ICTUS_OK);
    CHECK(ictus_lock_status(lock, &status) == ICTUS_OK);
    CHECK_NEAR(status.sources[0].refused, heard->refused + heard->kiss, 0);
    CHECK_NEAR(status.sources[0].lost, heard->lost, 0);
    CHECK_NEAR(status.sources[0].steps, heard->steps, 0);
    ictus_lock_close(lock);
}

/* Follow such a server for some polls. @return what the run returned */
static int endure(enum mischief mischief, int polls, struct heard *heard)
{
    int port = 0;
    char server[64];
    struct ictus_why why;
    const int fd = bound_socket(SOCK_DGRAM, &port);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        misbehave(fd, mischief);
    }
    (void)close(fd);
    (void)snprintf(server, sizeof(server), "127.0.0.1:%d", port);
    struct ictus_lock_options o = options_for(heard, server);
    o.polls = polls;
    o.duration_s = 20.0;
    o.interleaved = false;
    o.timeout_s = mischief == TWICE || mischief == JUMP ? PATIENT_S : o.timeout_s;
    const int err = ictus_lock_run(&o, &why);
    CHECK((err == ICTUS_OK) == (heard->first > 0));
    check_counts(heard);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    return err;
}

static void test_mischief(void)
{
    struct heard heard;
    /* A DENY is obeyed after one query, and a RATE by asking again 64 s later. */
    CHECK(endure(DENY, 20, &heard) == ICTUS_ERR_TIMEOUT);
    CHECK(heard.kiss == 1 && heard.polls == 1 && strstr(heard.last, "not be asked again"));
    CHECK(endure(RATE, 1, &heard) == ICTUS_ERR_TIMEOUT);
    CHECK(heard.kiss == 1 && strstr(heard.last, "asked less often"));
    CHECK(endure(UNSYNCHRONISED, 3, &heard) == ICTUS_ERR_TIMEOUT);
    CHECK(heard.refused == 3 && strstr(heard.last, "reply refused") != NULL);
    CHECK(endure(NOISE, 2, &heard) == ICTUS_ERR_TIMEOUT);
    CHECK(heard.lost + heard.refused + heard.kiss == heard.polls);
    CHECK(endure(TWICE, 8, &heard) == ICTUS_OK);
    CHECK(heard.accepted >= 4 && heard.violations == 0);
    /*
     * Four polls are answered and twelve are not: the clock is in holdover, and its bound stays
     * true.
     */
    CHECK(endure(MUTE, 16, &heard) == ICTUS_OK);
    CHECK(heard.lost >= 10 && heard.holdover >= 5 && heard.violations == 0);
    CHECK(strstr(heard.last, "no answer") != NULL);
    /* Held for two polls, and believed at the third. */
    CHECK(endure(JUMP, 12, &heard) == ICTUS_OK);
    CHECK(heard.steps == 1);
    CHECK(strstr(heard.last, "stepped by") != NULL);
}

static void test_bad_sources(void)
{
    struct heard heard;
    struct ictus_why why;
    static const struct {
        const char *servers, *reference, *metrics, *user;
        int err;
    } wrong[] = {
        {NULL, NULL, NULL, NULL, ICTUS_ERR_SPEC},
        {"a,,b", NULL, NULL, NULL, ICTUS_ERR_SPEC},
        {"[::1", NULL, NULL, NULL, ICTUS_ERR_SPEC},
        {"127.0.0.1:0", NULL, NULL, NULL, ICTUS_ERR_SPEC},
        {"127.0.0.1/", NULL, NULL, NULL, ICTUS_ERR_SPEC},
        {"127.0.0.1/tmin", NULL, NULL, NULL, ICTUS_ERR_SPEC},
        {"127.0.0.1/tmin=64s", NULL, NULL, NULL, ICTUS_ERR_SPEC}, /* above tmax */
        {"127.0.0.1/key=7", NULL, NULL, NULL, ICTUS_ERR_SPEC},
        {"127.0.0.1/exchanges=0", NULL, NULL, NULL, ICTUS_ERR_SPEC},
        {"127.0.0.1/basic=yes", NULL, NULL, NULL, ICTUS_ERR_SPEC},
        {"127.0.0.1:x", NULL, NULL, NULL, ICTUS_ERR_SPEC},
        {NULL, "sundial", NULL, NULL, ICTUS_ERR_UNKNOWN},
        {"127.0.0.1:9", NULL, "nowhere", NULL, ICTUS_ERR_SPEC},
        {"127.0.0.1:9", NULL, "203.0.113.1:9", NULL, ICTUS_ERR_IO},
        {"127.0.0.1:9,127.0.0.1:9,127.0.0.1:9,127.0.0.1:9,127.0.0.1:9,127.0.0.1:9,127.0.0.1:9,"
         "127.0.0.1:9,127.0.0.1:9,127.0.0.1:9,127.0.0.1:9,127.0.0.1:9,127.0.0.1:9,127.0.0.1:9,"
         "127.0.0.1:9,127.0.0.1:9,127.0.0.1:9",
         NULL, NULL, NULL, ICTUS_ERR_SPEC},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct ictus_lock_options o = options_for(&heard, wrong[i].servers);
        o.reference = wrong[i].reference;
        o.metrics = wrong[i].metrics;
        why.text[0] = '\0';
        CHECK(ictus_lock_run(&o, &why) == wrong[i].err);
        CHECK(why.text[0] != '\0' && heard.polls == 0);
    }
}

static void test_silent_servers(void)
{
    struct heard heard;
    struct ictus_why why;
    /*
     * A name without an address may get one later: it is looked up for as long as the daemon runs.
     */
    struct ictus_lock_options nameless = options_for(&heard, "no.such.host.invalid");
    nameless.polls = 2;
    CHECK(ictus_lock_run(&nameless, &why) == ICTUS_ERR_IO && heard.lost == 2);
    CHECK(strstr(why.text, "cannot resolve 'no.such.host.invalid'") != NULL);
    /* No server listens on a free port. */
    char server[64];
    (void)snprintf(server, sizeof(server), "127.0.0.1:%d", free_port(SOCK_DGRAM));
    struct ictus_lock_options o = options_for(&heard, server);
    o.polls = 6; /* long enough that the name is looked up again */
    CHECK(ictus_lock_run(&o, &why) == ICTUS_ERR_TIMEOUT && heard.lost == 6);
    CHECK(strstr(why.text, "no answer") != NULL);
    o.tmin_s = 2.0;
    CHECK(ictus_lock_run(&o, &why) == ICTUS_ERR_SPEC);
    o.tmin_s = 0.02;
    o.exchanges = 1000;
    CHECK(ictus_lock_run(&o, &why) == ICTUS_ERR_SPEC);
    o.exchanges = 4;
    o.key = 5;
    CHECK(ictus_lock_run(&o, &why) == ICTUS_ERR_SPEC);
    o.size = 1;
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_ERR_ARG);
}

static void test_bad_services(void)
{
    struct ictus_why why;
    struct ictus_serve_options s = serve_options(free_port(SOCK_DGRAM));
    s.address = "somewhere";
    CHECK(ictus_serve_run(&s, &why) == ICTUS_ERR_SPEC);
    s.address = "203.0.113.1";
    CHECK(ictus_serve_run(&s, &why) == ICTUS_ERR_IO);
    s.address = "127.0.0.1";
    s.require_key = true;
    CHECK(ictus_serve_run(&s, &why) == ICTUS_ERR_SPEC);
    s.require_key = false;
    s.allow = "everybody";
    CHECK(ictus_serve_run(&s, &why) == ICTUS_ERR_SPEC);
    s.allow = NULL;
    s.system_clock = false;
    s.name = "nobody-keeps-this";
    CHECK(ictus_serve_run(&s, &why) == ICTUS_ERR_IO);
    s.size = 1;
    CHECK(ictus_serve_run(&s, NULL) == ICTUS_ERR_ARG);
}

/* The reference identifier of a reference clock is its four letters, in network byte order. */
static void test_reference_names(void)
{
    const struct ictus_lock_options lock = {.size = sizeof(lock), .tmin_s = 1.0, .tmax_s = 16.0};
    const struct upstream_options options = {.lock = &lock};
    static struct upstream source;
    struct ictus_why why = {""};
    char text[128];
    (void)snprintf(text, sizeof(text), "sock:%s/names.sock", directory);
    REQUIRE(!ictusi_upstream_reference(&source, text, &options, &why));
    CHECK(source.reference_id == UINT32_C(0x534f434b)); /* SOCK */
    CHECK(source.stratum == 0);
    ictusi_upstream_close(&source);
}

/* The rest of a slew counts as error: the logged bound holds for the clock that is shown. */
static void test_slewing(void)
{
    static struct keeper keeper;
    static struct upstream source;
    struct ictus_lock_poll poll;
    memset(&keeper, 0, sizeof(keeper));
    (void)ictusi_timebase_read(&keeper.base);
    keeper.published = true;
    keeper.clock = (struct page_clock){.anchor = keeper.base.raw,
                                       .value = keeper.base.real,
                                       .slew_ns = 5e6,
                                       .slew_rate = 5e-4,
                                       .pp_ns2 = 1e6,
                                       .bound_ns = 2e3,
                                       .state = ICTUS_LOCK_LOCKED};
    ictusi_keeper_poll(&keeper, &source, UPSTREAM_ACCEPTED, &poll);
    CHECK(fabs(poll.clock_ns) > 4e6);
    CHECK(poll.bound_ns >= fabs(poll.clock_ns) && poll.bound_ns < 6e6);
    CHECK(poll.estimate_ns >= fabs(poll.clock_ns));
}

/* After a suspend nothing can be trusted; after the clock was set by others, everything can. */
static void test_watch(void)
{
    static struct keeper keeper;
    struct ictus_why why;
    memset(&keeper, 0, sizeof(keeper));
    REQUIRE(ictusi_page_create("watched", directory, &keeper.page, &why) == ICTUS_OK);
    keeper.source_count = 1;
    ictusi_discipline_init(&keeper.sources[0].discipline, ICTUS_LOCK_ADAPTIVE, 0.0, 120.0);
    keeper.sources[0].since_start = 40;
    keeper.published = true;
    keeper.clock.state = ICTUS_LOCK_LOCKED;
    keeper.base.stepped++;
    CHECK(ictusi_keeper_watch(&keeper) == TIMEBASE_STEPPED);
    CHECK(ictusi_keeper_watch(&keeper) == 0);
    CHECK(keeper.system_steps == 1 && keeper.clock.state == ICTUS_LOCK_LOCKED);
    keeper.base.suspended++;
    CHECK(ictusi_keeper_watch(&keeper) == TIMEBASE_SUSPENDED);
    CHECK(keeper.suspends == 1 && keeper.clock.state == ICTUS_LOCK_UNLOCKED);
    CHECK(keeper.clock.epoch == 1 && keeper.sources[0].since_start == 0);
    ictusi_page_close(&keeper.page);
    remove_clock("watched");
}

int main(void)
{
    REQUIRE(mkdtemp(check_scratch(directory, "daemon")));
    test_reference_names();
    test_slewing();
    test_watch();
    test_bad_sources();
    test_silent_servers();
    test_bad_services();
    test_mischief();
    test_follow();
    test_chain();
    remove_clock("unit");
    CHECK(rmdir(directory) == 0);
    return check_result();
}
