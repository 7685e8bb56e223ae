# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Two hosts made of network namespaces for the figures and the cluster tests: source this file.
#   net_up            namespaces $NS_A and $NS_B, 10.77.0.1 and 10.77.0.2 on a veth pair
#   net_relay ARGS    the same addresses' path as 10.78.0.1 and 10.78.0.2 through the relay
#   net_serve         chronyd -x as server in A (never steers)
# Everything that was started ends with the script; exit code 77 where something is missing.
NS_A=ictlkA$$
NS_B=ictlkB$$
NET_DIR=$(mktemp -d)
NET_PIDS=()

net_need() {
    [ "$(id -u)" = 0 ] || { echo 'skipped: needs root'; exit 77; }
    local tool
    for tool in ip "$@"; do
        command -v "$tool" >/dev/null || { echo "skipped: needs $tool"; exit 77; }
    done
    if ! ip netns add "ictlkT$$" 2>/dev/null; then
        echo 'skipped: no network namespaces here'
        exit 77
    fi
    ip netns del "ictlkT$$"
}

# shellcheck disable=SC2317 # called by a trap
net_down() {
    local pid
    for pid in "${NET_PIDS[@]}"; do
        kill "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    ip netns del "$NS_A" 2>/dev/null
    ip netns del "$NS_B" 2>/dev/null
    rm -f "/run/ictus/ictus-lock.net$$"* "/run/ictus/ictus-guard.net$$"*
    rm -rf "$NET_DIR"
}

net_up() {
    trap net_down EXIT
    trap 'exit 1' INT TERM
    chmod 700 "$NET_DIR"
    ip netns add "$NS_A"
    ip netns add "$NS_B"
    ip link add ve0 netns "$NS_A" type veth peer name ve0 netns "$NS_B"
    local ns host
    for ns in "$NS_A:1" "$NS_B:2"; do
        host=${ns#*:}
        ns=${ns%:*}
        ip -n "$ns" addr add "10.77.0.$host/24" dev ve0
        ip -n "$ns" addr add "fd77::$host/64" dev ve0 nodad
        ip -n "$ns" link set ve0 up
        ip -n "$ns" link set lo up
    done
}

# in_a COMMAND..., in_b COMMAND...: in the foreground; bg_a, bg_b: until the end of the script.
in_a() { ip netns exec "$NS_A" "$@"; }
in_b() { ip netns exec "$NS_B" "$@"; }
bg_a() { ip netns exec "$NS_A" "$@" & NET_PIDS+=($!); }
bg_b() { ip netns exec "$NS_B" "$@" & NET_PIDS+=($!); }

net_relay() { # DELAY_AB JITTER_AB DELAY_BA JITTER_BA LOSS SEED
    local a=icra$$ b=icrb$$
    "$RELAY" "$a" "$b" "$@" >"$NET_DIR/relay" &
    NET_PIDS+=($!)
    NET_RELAY=$!
    for _ in $(seq 50); do
        grep -q ready "$NET_DIR/relay" && break
        sleep 0.1
    done
    ip link set "$a" netns "$NS_A"
    ip link set "$b" netns "$NS_B"
    ip -n "$NS_A" addr add 10.78.0.1/24 dev "$a"
    ip -n "$NS_B" addr add 10.78.0.2/24 dev "$b"
    ip -n "$NS_A" link set "$a" up
    ip -n "$NS_B" link set "$b" up
}

net_relay_down() {
    kill "$NET_RELAY" 2>/dev/null
    wait "$NET_RELAY" 2>/dev/null
}

# net_chronyd a|b NAME LINE...: chronyd -x there with these lines of configuration, its logs in $NET_DIR/NAME
net_chronyd() {
    local where=$1 name=$2
    shift 2
    mkdir -p "$NET_DIR/$name"
    chmod 700 "$NET_DIR/$name"
    {
        printf '%s\n' "$@"
        echo "pidfile $NET_DIR/$name/pid"
        echo "bindcmdaddress $NET_DIR/$name/socket"
        echo 'cmdport 0'
        echo "logdir $NET_DIR/$name"
        echo 'log measurements tracking'
    } >"$NET_DIR/$name/conf"
    "bg_$where" chronyd -x -u root -d -f "$NET_DIR/$name/conf" >"$NET_DIR/$name/out" 2>&1
}

net_serve() { net_chronyd a server 'local stratum 5' 'allow all'; sleep 1; }

# ptp4l in both namespaces, in software and free running: it measures and steers nothing. B is the client; its
# log, four lines a second with its offset, is $NET_DIR/ptp.b.
net_ptp4l() {
    local ns
    for ns in a b; do
        printf '[global]\n%s\n' 'free_running 1' 'time_stamping software' "uds_address $NET_DIR/ptp.$ns.socket" \
            'summary_interval -2' 'logAnnounceInterval -2' 'logSyncInterval -2' 'logMinDelayReqInterval -2' "slaveOnly $([ $ns = b ] && echo 1 || echo 0)" \
            >"$NET_DIR/ptp.$ns.conf"
        "bg_$ns" ptp4l -m -i ve0 -f "$NET_DIR/ptp.$ns.conf" >"$NET_DIR/ptp.$ns" 2>&1
    done
}
