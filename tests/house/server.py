"""A local HTTP server that misbehaves on request: server.py FOLDER, prints its port, logs requests
to FOLDER/requests as 'PATH RANGE'. The first part of a path says how: plain (no ranges), ranged,
breaks (stops half-way, no ranges), hiccup (ranged; every answer to a start at 0 stops half-way),
slow (ranged, in small pieces), changed (ranged, a new ETag each time, stops half-way once)."""

import http.server
import os
import re
import sys
import threading
import time

FOLDER = sys.argv[1]
seen = {}
lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        how, _, name = self.path.strip("/").partition("/")
        asked = self.headers.get("Range", "")
        with lock:
            count = seen[self.path] = seen.get(self.path, 0) + 1
            with open(os.path.join(FOLDER, "requests"), "a", encoding="utf-8") as log:
                log.write(f"{self.path} {asked or '-'}\n")
        path = os.path.join(FOLDER, os.path.basename(name))
        if not os.path.isfile(path):
            self.send_error(404)
            return
        with open(path, "rb") as file:
            data = file.read()
        tag = f'"v{count}"' if how == "changed" else '"v1"'
        span = re.fullmatch(r"bytes=(\d+)-", asked)
        start = 0
        if how not in ("plain", "breaks") and span and self.headers.get("If-Range", tag) == tag:
            start = int(span[1])
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        if how not in ("plain", "breaks"):
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        end = len(data)
        if how == "breaks" or (how == "hiccup" and start == 0) or (how == "changed" and count == 1):
            end = len(data) // 2
            self.close_connection = True
        piece = 60_000 if how == "slow" else 1 << 20
        for at in range(start, end, piece):
            try:
                self.wfile.write(data[at:min(at + piece, end)])
            except OSError:
                return
            if how == "slow":
                time.sleep(0.03)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(os.path.join(FOLDER, "port.new"), "w", encoding="utf-8") as port:
    port.write(str(server.server_port))
os.replace(os.path.join(FOLDER, "port.new"), os.path.join(FOLDER, "port"))
server.serve_forever()
