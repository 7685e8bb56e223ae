/* SPDX-License-Identifier: BSD-3-Clause */
/* The polls of one server: scripted exchanges at instants that the test chooses. */
#include "lock/upstream.h"

#include "../check.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

static const int64_t second = 1000000000;

/* The linker makes the source call these instead of the clock and the server. */
static int64_t now;
static int asked;       /* exchanges started */
static int ask_code;    /* result of starting one */
static int answer;      /* result of the next check for a reply */
static int64_t late_ns; /* how long before now the exchange was */
static int64_t offset_ns;
int64_t __wrap_ictusi_timebase_raw_now(void);
int __wrap_ictusi_peer_ask(struct peer *peer, struct timebase *base);
int __wrap_ictusi_peer_hear(struct peer *peer, struct timebase *base, struct sample *sample);

int64_t __wrap_ictusi_timebase_raw_now(void)
{
    return now;
}

int __wrap_ictusi_peer_ask(struct peer *peer, struct timebase *base)
{
    (void)base;
    asked++;
    peer->wait.deadline = now + second / 4;
    return ask_code;
}

int __wrap_ictusi_peer_hear(struct peer *peer, struct timebase *base, struct sample *sample)
{
    (void)peer;
    (void)base;
    *sample = (struct sample){
        .local = now - late_ns, .offset_ns = offset_ns, .delay_ns = 1000, .bound_ns = 500};
    return answer;
}

static struct upstream source;
static const char *source_name, *source_port; /* the name that may be looked up */
static struct ictus_lock_options lock;
static struct timebase base;

static void source_begin(bool interleaved)
{
    const struct upstream_options options = {.lock = &lock};
    struct ictus_why why = {""};
    lock = (struct ictus_lock_options){.size = sizeof(lock),
                                       .loop = ICTUS_LOCK_FLL,
                                       .policy = ICTUS_LOCK_FIXED,
                                       .interleaved = interleaved,
                                       .keep_first = true,
                                       .exchanges = 3,
                                       .spacing_s = 0.5,
                                       .timeout_s = 1.0,
                                       .sigma_s = 1e-5,
                                       .tconf_s = 300.0,
                                       .tmin_s = 1.0,
                                       .tmax_s = 1.0,
                                       .wander = 1e-6,
                                       .max_distance_s = 3.0};
    source_name = "127.0.0.1";
    source_port = "9";
    now = 1000 * second;
    asked = 0;
    late_ns = 0;
    offset_ns = 5000;
    ask_code = answer = ICTUS_OK;
    CHECK(ictusi_upstream_server(&source, "127.0.0.1/no=1", &options, &why) == ICTUS_ERR_SPEC);
    REQUIRE(ictusi_upstream_server(&source, "127.0.0.1:9", &options, &why) == ICTUS_OK);
    CHECK_NEAR(source.plan.sigma_ns, 1e4, 1e-9);
    CHECK_NEAR(source.discipline.sigma_ns, 1e4, 1e-9);
    CHECK(source.stratum == 16 && source.interval_s == 1.0 && source.exchanges == 3);
    source.due = now;
    source.peer.reply = (struct packet){.stratum = 4,
                                        .leap = 1,
                                        .reference_id = 0x52415445 /* RATE */,
                                        .root_delay_ns = 70,
                                        .root_dispersion_ns = 80};
}

/* One step. @return the event, or -1 while the poll goes on */
static int step(void)
{
    enum upstream_event event = UPSTREAM_CLOCK;
    return ictusi_upstream_step(&source, &base, 0, &event) ? (int)event : -1;
}

/* A whole poll, from the instant at which it is due. */
static int poll(void)
{
    int event = -1;
    now = source.due > now ? source.due : now;
    asked = 0;
    for (int i = 0; i < 100 && event < 0; i++) {
        event = step();
        now = event < 0 && source.wake > now ? source.wake : now;
    }
    return event;
}

/*
 * Ask, wait for the reply, pause and ask again, as often as requested and never before it is due.
 */
static void groups_are_asked_for(void)
{
    source_begin(false);
    source.due = now + 1;
    CHECK(step() == -1 && asked == 0 && source.wake == now + 1);
    now++;
    CHECK(ictusi_upstream_fd(&source) == -1);
    for (int i = 1; i <= 3; i++) {
        CHECK(step() == -1 && asked == i && source.wake == now + second / 4);
        CHECK(ictusi_upstream_fd(&source) == source.peer.socket.fd && source.peer.socket.fd >= 0);
        answer = PEER_PENDING;
        CHECK(step() == -1 && source.wake == now + second / 4);
        answer = ICTUS_OK;
        now += 1000;
        if (i == 3) {
            break;
        }
        CHECK(step() == -1 && source.poll.count == (size_t)i && source.wake == now + second / 2);
        CHECK(ictusi_upstream_fd(&source) == -1);
        now += second / 2 - 1;
        CHECK(step() == -1 && asked == i);
        now++;
    }
    CHECK(step() == UPSTREAM_FIRST && asked == 3);
    ictusi_upstream_close(&source);
    CHECK(source.peer.socket.fd == -1);
}

/* The result of a group, and when the next one is due: a second after this one, or after now. */
static void groups_are_taken_in(void)
{
    source_begin(false);
    const int64_t due = source.due;
    CHECK(poll() == UPSTREAM_FIRST);
    CHECK(asked == 3 && source.polls == 1 && source.reach == 1);
    CHECK(source.last.count == 3 && source.last_good == now && source.missed == 0);
    CHECK(source.stratum == 4 && source.leap == 1 && source.root_delay_ns == 70);
    CHECK(source.root_dispersion_ns == 80 && source.reference_id == 0x7f000001);
    CHECK(source.due == (due + second > now ? due : now) + second && source.wake == source.due);
    CHECK(source.discipline.started && source.bound.started);
    CHECK(poll() == UPSTREAM_ACCEPTED && source.reach == 3 && asked == 3);
    ictusi_upstream_close(&source);
    CHECK(source.peer.socket.fd == -1);
}

/* In interleaved mode, the first reply completes no exchange, or one of the previous poll. */
static void stale_exchanges_do_not_count(void)
{
    source_begin(true);
    source.due = now;
    answer = ICTUS_ERR_SAMPLES;
    CHECK(step() == -1 && step() == -1 && source.poll.lost == 0 && source.poll.count == 0);
    now = source.wake;
    answer = ICTUS_OK;
    /* After the single one. */
    CHECK(poll() == UPSTREAM_FIRST && source.last.count == 3 && asked == 3);
    answer = ICTUS_ERR_SAMPLES;
    /* One more than requested; two in the first poll. */
    CHECK(poll() == UPSTREAM_LOST && asked == 4);
    late_ns = 10 * second;
    answer = ICTUS_OK;
    CHECK(poll() == UPSTREAM_LOST && asked == 4 && source.poll.count == 0);
    ictusi_upstream_close(&source);
    source_begin(true);
    answer = ICTUS_ERR_SAMPLES;
    CHECK(poll() == UPSTREAM_LOST && asked == 5);
    ictusi_upstream_close(&source);
}

/* Two lost exchanges end a poll; a single one does if the server has long been silent. */
static void silence_is_cheap(void)
{
    source_begin(false);
    answer = ICTUS_ERR_TIMEOUT;
    for (int i = 1; i <= 6; i++) {
        CHECK(poll() == UPSTREAM_LOST && asked == (i <= 4 ? 2 : 1));
        CHECK(source.missed == i && source.lost == (uint64_t)i && source.refused == 0);
        CHECK(source.reach == 0 && source.polls == i && !source.bound.started);
    }
    answer = ICTUS_OK;
    CHECK(poll() == UPSTREAM_FIRST && source.missed == 0 && source.reach == 1 && source.lost == 6);
    ictusi_upstream_close(&source);
}

/* A failed send counts as lost, after a pause; a clock that was set ends the poll. */
static void failures_are_told(void)
{
    source_begin(false);
    CHECK(poll() == UPSTREAM_FIRST);
    ask_code = ICTUS_ERR_IO;
    source.interval_s = 8.0;
    CHECK(poll() == UPSTREAM_LOST && asked == 2 && source.reach == 2);
    CHECK(source.interval_s == 1.0); /* the shortest, so that it is back soon */
    now = source.due;
    CHECK(step() == -1 && source.wake == now + second / 2);
    CHECK(poll() == UPSTREAM_LOST && asked == 1); /* the other one of its two */
    ask_code = ICTUS_ERR_CLOCK;
    CHECK(poll() == UPSTREAM_CLOCK && asked == 1 && source.lost == 2 && source.missed == 3);
    ask_code = ICTUS_OK;
    answer = ICTUS_ERR_CLOCK;
    CHECK(poll() == UPSTREAM_CLOCK && asked == 1);
    ictusi_upstream_close(&source);
}

/*
 * A server's kiss code ends the poll immediately: RATE is obeyed by doublings that fade, DENY
 * permanently.
 */
static void kisses_are_obeyed(void)
{
    source_begin(false);
    answer = ICTUS_ERR_FORMAT;
    source.peer.fault = PACKET_UNSYNCHRONISED;
    CHECK(poll() == UPSTREAM_REFUSED && asked == 1 && source.refused == 1 && source.polite == 0);
    source.peer.fault = PACKET_KISS;
    for (int i = 1; i <= 4; i++) {
        CHECK(poll() == UPSTREAM_KISS && asked == 1 && source.refused == 1 + (uint64_t)i);
        CHECK(source.polite == (i < 3 ? i : 3) && source.lost == 0);
        CHECK(source.due - now <= (1 << source.polite) * second);
        CHECK(source.due - now > ((1 << source.polite) - 1) * second);
    }
    answer = ICTUS_OK;
    for (int i = 1; i <= 12; i++) {
        const int polite = source.polite;
        CHECK(poll() <= UPSTREAM_ACCEPTED && asked == (polite ? 1 : 3));
        CHECK(source.polite == 3 - i / 4 && !source.dead);
    }
    ictusi_upstream_close(&source);
}

/* A server that denies service is not asked again; unknown codes change nothing. */
static void some_go_away(void)
{
    source_begin(false);
    source.peer.fault = PACKET_KISS;
    answer = ICTUS_ERR_FORMAT;
    source.peer.reply.reference_id = 0x58585858;
    CHECK(poll() == UPSTREAM_KISS && source.polite == 0 && !source.dead);
    source.peer.reply.reference_id = 0x44454e59; /* DENY */
    CHECK(poll() == UPSTREAM_KISS && source.dead);
    source.dead = false;
    source.peer.reply.reference_id = 0x52535452; /* RSTR */
    CHECK(poll() == UPSTREAM_KISS && source.dead && source.polite == 0);
    ictusi_upstream_close(&source);
}

/* The third deviating reply in a row is believed, and so is its bound. */
static void steps_are_believed(void)
{
    double low = 0, high = 0;
    source_begin(false);
    CHECK(poll() == UPSTREAM_FIRST);
    for (int i = 0; i < 20; i++) {
        CHECK(poll() == UPSTREAM_ACCEPTED);
    }
    CHECK(source.since_start == 21 && source.locked);
    offset_ns += second;
    CHECK(poll() == UPSTREAM_GLITCH && poll() == UPSTREAM_GLITCH && source.missed == 0);
    ictusi_bound_at(&source.bound, now, &low, &high);
    CHECK(low < 1e6 && high > 0.9e9); /* either may be the truth */
    CHECK(poll() == UPSTREAM_STEPPED && source.since_start == 1);
    ictusi_bound_at(&source.bound, now, &low, &high);
    CHECK(low > 0.9e9 && low <= 1e9 && high >= 1e9);
    ictusi_upstream_close(&source);
}

/* The addresses that lookups find are given by the test. */
static enum lookup_state looked;
static int lookups;
static struct sockaddr_in places[2];
static struct addrinfo found[2];
struct lookup *__wrap_ictusi_lookup_start(const char *host, const char *port);
enum lookup_state __wrap_ictusi_lookup_check(struct lookup *lookup, const struct addrinfo **list,
                                             int *code);
void __wrap_ictusi_lookup_end(struct lookup *lookup);

struct lookup *__wrap_ictusi_lookup_start(const char *host, const char *port)
{
    CHECK_STR(host, source_name);
    CHECK_STR(port, source_port);
    lookups++;
    return (struct lookup *)&lookups; /* never dereferenced */
}

enum lookup_state __wrap_ictusi_lookup_check(struct lookup *lookup, const struct addrinfo **list,
                                             int *code)
{
    CHECK(lookup == (struct lookup *)&lookups);
    *list = looked == LOOKUP_FOUND ? found : NULL;
    *code = EAI_NONAME;
    return looked;
}

void __wrap_ictusi_lookup_end(struct lookup *lookup)
{
    lookups += lookup ? 100 : 0;
}

static void name_begin(struct upstream *s, bool pool)
{
    const struct upstream_options options = {.lock = &lock, .pool = pool};
    struct ictus_why why = {""};
    REQUIRE(ictusi_upstream_server(s, "pool.test", &options, &why) == ICTUS_OK);
    source_name = "pool.test";
    source_port = "123";
    s->due = now;
    for (uint32_t i = 0; i < 2; i++) {
        places[i] = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(9)};
        places[i].sin_addr.s_addr = htonl(0x7f000001 + i);
        found[i] = (struct addrinfo){.ai_family = AF_INET,
                                     .ai_socktype = SOCK_DGRAM,
                                     .ai_addr = (struct sockaddr *)(void *)&places[i],
                                     .ai_addrlen = sizeof(places[i]),
                                     .ai_next = i ? NULL : &found[1]};
    }
    lookups = 0;
}

/* A lookup is waited for as long as a reply, and then repeated less and less often. */
static void names_are_looked_up(void)
{
    source_begin(false);
    ictusi_upstream_close(&source);
    name_begin(&source, false);
    looked = LOOKUP_PENDING;
    CHECK(step() == -1 && lookups == 1 && source.wake == now + second / 50);
    now += second - 1;
    CHECK(step() == -1 && lookups == 1);
    now++;
    CHECK(step() == UPSTREAM_LOST && asked == 0 && source.interval_s == 2.0);
    looked = LOOKUP_FAILED;
    CHECK(poll() == UPSTREAM_LOST && asked == 0 && lookups == 101 && source.interval_s == 4.0);
    CHECK(strstr(source.trouble, "cannot resolve 'pool.test': ") != NULL);
    looked = LOOKUP_FOUND;
    lookups = 0;
    CHECK(poll() == UPSTREAM_FIRST && lookups == 101 && source.trouble[0] == '\0');
    CHECK_STR(source.peer.address, "127.0.0.1");
    CHECK(poll() == UPSTREAM_ACCEPTED && lookups == 101); /* it is known now */
    answer = ICTUS_ERR_TIMEOUT;
    for (int i = 0; i < 4; i++) {
        CHECK(poll() == UPSTREAM_LOST && lookups == 101);
    }
    /* Silent for a long time: it may have moved. */
    CHECK(poll() == UPSTREAM_LOST && lookups == 202);
    ictusi_upstream_close(&source);
}

/* Two sources of a pool take two addresses; a third one finds none. */
static void pools_share_addresses(void)
{
    static struct upstream pool[3];
    source_begin(false);
    ictusi_upstream_close(&source);
    looked = LOOKUP_FOUND;
    for (int i = 0; i < 3; i++) {
        enum upstream_event event = UPSTREAM_CLOCK;
        name_begin(&pool[i], true);
        pool[i].siblings = pool;
        pool[i].sibling_count = 3;
        const bool ends = ictusi_upstream_step(&pool[i], &base, 0, &event);
        CHECK(ends == (i == 2) &&
              (ends ? event == UPSTREAM_LOST : pool[i].poll.phase == UPSTREAM_WAITING));
        CHECK_STR(pool[i].peer.address, i == 0 ? "127.0.0.1" : i == 1 ? "127.0.0.2" : "");
    }
    for (int i = 0; i < 3; i++) {
        ictusi_upstream_close(&pool[i]);
    }
}

/* A reference is read once per second and is stratum 0, with its own name. */
static void references_are_read(void)
{
    const struct upstream_options options = {.lock = &lock};
    struct ictus_why why = {""};
    char spec[CHECK_PATH + 16], directory[CHECK_PATH];
    REQUIRE(mkdtemp(check_scratch(directory, "upstream")));
    (void)snprintf(spec, sizeof(spec), "sock:%s/socket", directory);
    source_begin(false);
    ictusi_upstream_close(&source);
    lock.tmin_s = 64.0;
    CHECK(ictusi_upstream_reference(&source, "sock:", &options, &why) != ICTUS_OK);
    REQUIRE(ictusi_upstream_reference(&source, spec, &options, &why) == ICTUS_OK);
    CHECK(source.stratum == 0 && source.reference_id == 0x534f434b && source.interval_s == 1.0);
    CHECK(source.plan.tmin_s == 1.0 && source.plan.tmax_s == 1.0 && !source.drop_first);
    source.due = now;
    CHECK(poll() == UPSTREAM_LOST && asked == 0 && source.due == now + second);
    CHECK(access(spec + 5, F_OK) == 0);
    ictusi_upstream_close(&source);
    CHECK(access(spec + 5, F_OK) != 0 && !source.reference && rmdir(directory) == 0);
}

static void polls_are_broken_off(void)
{
    source_begin(false);
    CHECK(poll() == UPSTREAM_FIRST);
    const struct discipline was = source.discipline;
    const int64_t bound = source.bound.origin_ns;
    source.peer.last.valid = true;
    ictusi_upstream_leap(&source, -second);
    CHECK(source.discipline.origin_ns == was.origin_ns - second && source.leap == 0);
    CHECK(source.bound.origin_ns == bound - second && !source.peer.last.valid);
    now = source.due;
    CHECK(step() == -1 && source.poll.phase == UPSTREAM_WAITING);
    source.peer.last.valid = true;
    ictusi_upstream_postpone(&source, now + 7 * second);
    CHECK(source.poll.phase == UPSTREAM_RESTING && source.due == now + 7 * second);
    CHECK(source.wake == source.due && !source.peer.last.valid);
    ictusi_upstream_postpone(&source, now);
    CHECK(source.due == now + 7 * second);
    source.locked = source.peer.last.valid = true;
    ictusi_upstream_restart(&source);
    CHECK(source.due == now && source.wake == now && !source.locked && source.since_start == 0);
    CHECK(!source.discipline.started && !source.bound.started && !source.peer.last.valid);
    CHECK_STR(ictusi_upstream_event_name(UPSTREAM_FIRST), "first");
    CHECK_STR(ictusi_upstream_event_name(UPSTREAM_CLOCK), "clock set");
    ictusi_upstream_close(&source);
}

/* A host, and a port if there is one; anything else is refused and quoted as written. */
static void hosts_are_split(void)
{
    static const struct {
        const char *text, *host, *port; /* NULL host: refused */
    } cases[] = {{"a", "a", "123"},
                 {"a:1", "a", "1"},
                 {"ntp.example.org:65535", "ntp.example.org", "65535"},
                 {"fe80::1", "fe80::1", "123"},
                 {"[fe80::1]", "fe80::1", "123"},
                 {"[fe80::1]:4123", "fe80::1", "4123"},
                 {"::", "::", "123"},
                 {"", NULL, NULL},
                 {":123", NULL, NULL},
                 {"[]", NULL, NULL},
                 {"[fe80::1", NULL, NULL},
                 {"[fe80::1]4123", NULL, NULL},
                 {"a:", NULL, NULL},
                 {"a:0", NULL, NULL},
                 {"a:65536", NULL, NULL},
                 {"a:b", NULL, NULL}};
    struct peer one;
    struct ictus_why why;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        memset(&one, 0, sizeof(one));
        const int err = ictusi_peer_name(cases[i].text, &one, &why);
        CHECK(err == (cases[i].host ? ICTUS_OK : ICTUS_ERR_SPEC));
        CHECK_STR(one.host, cases[i].host ? cases[i].host : "");
        CHECK_STR(one.port, cases[i].host ? cases[i].port : "");
        CHECK(!err || strstr(why.text, cases[i].text));
    }
    char longest[sizeof(one.host) + 1];
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    CHECK(ictusi_peer_name(longest, &one, &why) == ICTUS_ERR_SPEC);
    CHECK(ictusi_peer_name(longest + 1, &one, &why) == ICTUS_OK);
    CHECK_STR(one.host, longest + 1);
}

/* A daemon that was started without a standard input may get 0 as its socket. */
static void descriptor_zero_is_one_too(void)
{
    struct peer peer = {.options = {.stamps = STAMP_USER}};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const struct addrinfo info = {.ai_family = AF_INET,
                                  .ai_socktype = SOCK_DGRAM,
                                  .ai_addr = (struct sockaddr *)&address,
                                  .ai_addrlen = sizeof(address)};
    struct ictus_why why = {""};
    REQUIRE(ictusi_peer_name("127.0.0.1", &peer, &why) == ICTUS_OK);
    const int input = dup(STDIN_FILENO);
    (void)close(STDIN_FILENO);
    CHECK(ictusi_peer_connect(&peer, &info, &why) == ICTUS_OK && peer.socket.fd == STDIN_FILENO);
    ictusi_peer_close(&peer);
    CHECK(fcntl(STDIN_FILENO, F_GETFD) == -1); /* closed like any other */
    if (input >= 0) {
        CHECK(dup2(input, STDIN_FILENO) == STDIN_FILENO && close(input) == 0);
    }
}

int main(void)
{
    descriptor_zero_is_one_too();
    hosts_are_split();
    groups_are_asked_for();
    groups_are_taken_in();
    stale_exchanges_do_not_count();
    silence_is_cheap();
    failures_are_told();
    kisses_are_obeyed();
    some_go_away();
    steps_are_believed();
    names_are_looked_up();
    pools_share_addresses();
    references_are_read();
    polls_are_broken_off();
    return check_result();
}
