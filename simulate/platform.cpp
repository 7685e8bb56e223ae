// SPDX-License-Identifier: BSD-3-Clause
// A SimGrid platform in a shared object: loads the XML that `ictus simulate` wrote, then gives
// every message a latency of its own: jitter, a heavy tail, and a difference between the ways of
// each pair.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

namespace
{

struct Noise {
    enum class Shape {
        exponential,
        erlang,
        gaussian,
        lognormal,
        uniform
    } shape = Shape::exponential;
    double jitter_s = 0.0;
    double tail = 0.0;   // share of messages in the heavy tail
    double tail_s = 0.0; // scale of a Pareto distribution of index 1 / 0.7
    double asymmetry_s = 0.0;
    double inside = 0.2;    // inside a host, jitter is this part of it
    double bandwidth = 0.0; // where links are not shared: what a message takes more for its length
    double inside_bandwidth = 0.0;
    std::uint64_t seed = 1;
    std::mt19937_64 random;
};

double number(const char *name, double fallback)
{
    const char *text = std::getenv(name);
    return text ? std::atof(text) : fallback;
}

Noise::Shape shape_of(const std::string &name)
{
    if (name == "erlang") {
        return Noise::Shape::erlang;
    }
    if (name == "gauss") {
        return Noise::Shape::gaussian;
    }
    if (name == "lognormal") {
        return Noise::Shape::lognormal;
    }
    return name == "uniform" ? Noise::Shape::uniform : Noise::Shape::exponential;
}

// In (0, 1): the same on every C++ library, unlike the standard distributions.
double uniform(Noise &noise)
{
    return (static_cast<double>(noise.random() >> 11) + 0.5) / 9007199254740992.0;
}

// Box and Muller: of the two that it gives one is enough here.
double normal(Noise &noise)
{
    return std::sqrt(-2.0 * std::log(uniform(noise))) *
           std::cos(6.283185307179586 * uniform(noise));
}

// What one message takes longer, in seconds: jitter_s is the mean of each shape but the Gaussian,
// of which it is the standard deviation. The tail is Pareto's with index 1 / 0.7 = 1.43: its mean
// exists, its variance does not, so no number of exchanges averages it away.
double jitter(Noise &noise)
{
    double s = 0.0;
    switch (noise.shape) {
    case Noise::Shape::erlang:
        // the sum of three exponential stages
        s = -std::log(uniform(noise) * uniform(noise) * uniform(noise)) / 3.0;
        break;
    case Noise::Shape::gaussian:
        // four deviations up, where hardly any would be negative
        s = std::max(4.0 + normal(noise), 0.0);
        break;
    case Noise::Shape::lognormal:
        // the mean of exp(x) is exp(1/2)
        s = std::exp(normal(noise) - 0.5);
        break;
    case Noise::Shape::uniform:
        s = 2.0 * uniform(noise);
        break;
    default:
        s = -std::log(uniform(noise));
    }
    s *= noise.jitter_s;
    if (noise.tail > 0.0 && uniform(noise) < noise.tail) {
        s += noise.tail_s * std::pow(uniform(noise), -0.7);
    }
    return s;
}

// The finaliser of splitmix64: one changed bit changes half of them.
std::uint64_t mix(std::uint64_t h)
{
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
    return h ^ (h >> 31);
}

// Fixed for a pair: one way is longer by it, the other shorter.
double asymmetry(const Noise &noise, const std::string &from, const std::string &to)
{
    const bool forward = from < to;
    std::uint64_t h = mix(noise.seed + 0x9e3779b97f4a7c15ULL);
    for (const char c : (forward ? from : to) + ' ' + (forward ? to : from)) {
        h = mix(h + static_cast<unsigned char>(c));
    }
    const double unit = static_cast<double>(h >> 11) / 9007199254740992.0 * 2.0 - 1.0;
    return forward ? unit * noise.asymmetry_s : -unit * noise.asymmetry_s;
}

// What is wrong with single nodes and links: each of their messages takes so much longer.
struct Fault {
    std::string a, b; // b empty: a node
    double more_s;
};

// NODE:SECONDS or NODE-NODE:SECONDS, separated by commas; checked by ictus simulate.
std::vector<Fault> read_faults(const char *text)
{
    std::vector<Fault> faults;
    std::istringstream words(text ? text : "");
    for (std::string word; std::getline(words, word, ',');) {
        const auto colon = word.find(':');
        const auto dash = word.find('-');
        if (colon != std::string::npos) {
            const bool link = dash < colon;
            const auto name = [&](std::size_t from, std::size_t to) {
                return "node-" + word.substr(from, to - from);
            };
            faults.push_back({name(0, link ? dash : colon), link ? name(dash + 1, colon) : "",
                              std::atof(word.c_str() + colon + 1)});
        }
    }
    return faults;
}

double faulty(const std::string &from, const std::string &to)
{
    static const std::vector<Fault> faults = read_faults(std::getenv("ICTUS_SIMULATE_SLOW"));
    double more = 0.0;
    for (const Fault &f : faults) {
        const bool node = f.b.empty() && (f.a == from || f.a == to);
        const bool link = (f.a == from && f.b == to) || (f.a == to && f.b == from);
        more += node || link ? f.more_s : 0.0;
    }
    return more;
}

// Lives as long as the simulation.
Noise &the_noise()
{
    static Noise noise;
    return noise;
}

// What a message takes, as a multiple of the links' latency: SimGrid lets a plugin change latencies
// by a factor only,
//
//     factor = max(1 + (jitter + asymmetry + fault) / latency, 0) + length / bandwidth / latency
//
// where bandwidth is 0 if SimGrid itself shares the links. No message arrives before it was sent.
double factor(Noise &noise, double bytes, double latency, const s4u::Host *from,
              const s4u::Host *to)
{
    double more = jitter(noise);
    if (from == to) {
        more *= noise.inside;
    } else {
        more += asymmetry(noise, from->get_name(), to->get_name());
        more += faulty(from->get_name(), to->get_name());
    }
    const double bandwidth = from == to ? noise.inside_bandwidth : noise.bandwidth;
    const double length = bandwidth > 0.0 ? bytes / bandwidth : 0.0;
    return std::max(1.0 + more / latency, 0.0) + length / latency;
}

} // namespace

// What n messages would take one after the other, each of them, for src/exchange/burst.c.
extern "C" void ictus_platform_delays(const char *from, const char *to, double bytes, std::size_t n,
                                      double *delays)
{
    const s4u::Host *sender = s4u::Host::by_name(from);
    const s4u::Host *receiver = s4u::Host::by_name(to);
    std::vector<s4u::Link *> links;
    double latency = 0.0;
    sender->route_to(receiver, links, &latency);
    for (std::size_t i = 0; i < n; i++) {
        delays[i] = latency * factor(the_noise(), bytes, latency, sender, receiver);
    }
}

extern "C" void load_platform(const s4u::Engine &engine)
{
    const char *path = std::getenv("ICTUS_SIMULATE_PLATFORM");
    if (!path) {
        throw std::runtime_error("ICTUS_SIMULATE_PLATFORM is not set: start it by ictus simulate");
    }
    const_cast<s4u::Engine &>(engine).load_platform(path);
    Noise &noise = the_noise();
    const char *shape = std::getenv("ICTUS_SIMULATE_SHAPE");
    noise.shape = shape_of(shape ? shape : "exp");
    noise.jitter_s = number("ICTUS_SIMULATE_JITTER", 0.0);
    noise.tail = number("ICTUS_SIMULATE_TAIL", 0.0);
    noise.tail_s = number("ICTUS_SIMULATE_TAIL_SCALE", 0.0);
    noise.asymmetry_s = number("ICTUS_SIMULATE_ASYMMETRY", 0.0);
    noise.bandwidth = number("ICTUS_SIMULATE_BANDWIDTH", 0.0);
    noise.inside_bandwidth = number("ICTUS_SIMULATE_INSIDE_BANDWIDTH", 0.0);
    noise.seed = static_cast<std::uint64_t>(number("ICTUS_SIMULATE_SEED", 1.0));
    noise.random.seed(mix(noise.seed));
    if (noise.jitter_s == 0.0 && noise.tail == 0.0 && noise.asymmetry_s == 0.0 &&
        noise.bandwidth == 0.0) {
        return;
    }
    engine.get_netzone_root()->get_network_model()->set_lat_factor_cb(
        [](double bytes, const s4u::Host *from, const s4u::Host *to,
           const std::vector<s4u::Link *> &links, const std::unordered_set<s4u::NetZone *> &) {
            double latency = 0.0;
            for (const s4u::Link *link : links) {
                latency += link->get_latency();
            }
            if (latency <= 0.0) {
                return 1.0;
            }
            return factor(the_noise(), bytes, latency, from, to);
        });
}
