#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A GPS receiver over TCP: RMC and GGA sentences each second, true to the system's clock. nmea.py PORT"""
import socket
import sys
import time


def sentence(body):
    check = 0
    for c in body:
        check ^= ord(c)
    return f"${body}*{check:02X}\r\n"


def report(now):
    t = time.gmtime(now)
    clock, day = time.strftime("%H%M%S.00", t), time.strftime("%d%m%y", t)
    return (sentence(f"GPRMC,{clock},A,4807.038,N,01131.000,E,000.0,000.0,{day},,,A") +
            sentence(f"GPGGA,{clock},4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,"))


def main():
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", int(sys.argv[1])))
    server.listen(1)
    print("ready", flush=True)
    while True:
        client, _ = server.accept()
        try:
            while True:
                time.sleep(1.0 - time.time() % 1.0)
                client.sendall(report(int(time.time())).encode())
        except OSError:
            client.close()


if __name__ == "__main__":
    main()
