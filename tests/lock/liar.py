#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An NTP server that behaves badly. Usage: liar.py ADDRESS PORT MODE [ARGUMENT]

honest, offset S, jump AFTER S (seconds), kiss CODE, stratum N, leap N, origin (echoes something else),
short, long, random, late S, twice (each reply twice, and an old one), future (stamps out of order),
silent AFTER (seconds).
"""
import os
import socket
import struct
import sys
import time

EPOCH = 2208988800


def stamp(seconds):
    whole = int(seconds)
    return struct.pack("!II", (whole + EPOCH) & 0xFFFFFFFF, int((seconds - whole) * 2**32))


def reply(request, received, offset, leap=0, stratum=2, refid=b"\x0a\0\0\1", backwards=False):
    back = -3.0 if backwards else 0.0
    return (bytes([leap << 6 | 4 << 3 | 4, stratum, request[2], 0xE8]) + b"\0\0\0\1\0\0\0\1" + refid +
            stamp(received + offset - 1) + request[40:48] + stamp(received + offset) +
            stamp(time.time() + offset + back))


def answers(mode, args, request, received, start):
    offset = 0.0
    if mode == "offset":
        offset = float(args[0])
    elif mode == "jump" and time.time() - start > float(args[0]):
        offset = float(args[1])
    good = reply(request, received, offset)
    if mode == "kiss":
        return [reply(request, received, 0, leap=3, stratum=0, refid=args[0].encode())]
    if mode == "stratum":
        return [reply(request, received, 0, stratum=int(args[0]), refid=b"\0\0\0\0")]
    if mode == "leap":
        return [reply(request, received, 0, leap=int(args[0]))]
    if mode == "origin":
        return [good[:24] + os.urandom(8) + good[32:]]
    if mode == "short":
        return [good[:47]]
    if mode == "long":
        return [good + os.urandom(1000), good + b"\0\7\0\3" + bytes(60)]
    if mode == "random":
        return [os.urandom(48), os.urandom(7), b"", os.urandom(1400)]
    if mode == "future":
        return [reply(request, received, 0, backwards=True)]
    if mode == "silent" and time.time() - start > float(args[0]):
        return []
    return [good]


def main():
    address, port, mode, args = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.socket(family, socket.SOCK_DGRAM)
    server.bind((address, port))
    print("ready", flush=True)
    start, old = time.time(), None
    while True:
        request, peer = server.recvfrom(2048)
        received = time.time()
        if len(request) < 48:
            continue
        if mode == "late":
            time.sleep(float(args[0]))
        for answer in answers(mode, args, request, received, start):
            server.sendto(answer, peer)
            if mode == "twice":
                server.sendto(answer, peer)
                if old:
                    server.sendto(old, peer)
                old = answer


if __name__ == "__main__":
    main()
