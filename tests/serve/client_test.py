#!/usr/bin/env python3
"""A client that tries what it should not, against `mirfak serve`: other hosts and origins, forms, paths, sizes, times,
many connections, broken requests; and that it answers what the program prints. With --time: how long answers take.
usage: client_test.py PROGRAM SOURCE_TREE [--time]"""

import concurrent.futures
import json
import os
import socket
import statistics
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from served import serve  # noqa: E402

PROGRAM, TREE = sys.argv[1:3]
JSON = {"Content-Type": "application/json"}
with open(f"{TREE}/scenarios/gpt3-175b-a100.yaml", encoding="utf-8") as file:
    SCENARIO = file.read()


def raw(text, timeout=15):
    """Sends bytes as they are; returns all that comes back until the connection ends."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=timeout) as connection:
        try:
            connection.sendall(text)
        except OSError:
            pass  # it closed while we were sending
        out = b""
        try:
            while part := connection.recv(65536):
                out += part
        except ConnectionResetError:
            pass
        return out


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else None


def open_files():
    return len(os.listdir(f"/proc/{served.process.pid}/fd"))


class Strangers(unittest.TestCase):
    def test_other_hosts(self):
        for host in ("evil.example", f"evil.example:{served.port}", f"127.0.0.1.evil.example:{served.port}", "169.254.169.254"):
            for target in ("/", "/api/catalogue", "/form.js"):
                self.assertEqual(served.ask("GET", target, headers={"Host": host})[0], 403, host)
            self.assertEqual(served.ask("POST", "/api/simulate", "{}", {**JSON, "Host": host})[0], 403, host)
        self.assertEqual(status_of(raw(b"GET / HTTP/1.0\r\n\r\n")), 403)  # none
        two = b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"
        self.assertEqual(status_of(raw(two)), 403)

    def test_other_origins(self):
        body = json.dumps({"scenario": SCENARIO})
        for origin in ("https://evil.example", "null", f"http://evil.example:{served.port}", "http://127.0.0.1:1"):
            status, headers, _ = served.ask("POST", "/api/simulate", body, {**JSON, "Origin": origin})
            self.assertEqual(status, 403, origin)
            self.assertNotIn("Access-Control-Allow-Origin", headers)
        own = {**JSON, "Origin": f"http://127.0.0.1:{served.port}"}
        self.assertEqual(served.ask("POST", "/api/simulate", body, own)[0], 200)

    def test_forms_of_other_sites(self):
        body = json.dumps({"scenario": SCENARIO})
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            self.assertEqual(served.ask("POST", "/api/simulate", body, {"Content-Type": kind})[0], 415)
        self.assertEqual(served.ask("POST", "/api/simulate", body)[0], 415)
        preflight = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
        status, headers, _ = served.ask("OPTIONS", "/api/simulate", headers=preflight)
        self.assertEqual(status, 403)
        self.assertFalse([name for name in headers if name.lower().startswith("access-control")])

    def test_it_listens_on_this_machine_alone(self):
        with open(f"/proc/{served.process.pid}/net/tcp", encoding="ascii") as table:
            addresses = [line.split()[1] for line in table if line.split()[3] == "0A"]
        mine = [address for address in addresses if int(address.split(":")[1], 16) == served.port]
        self.assertEqual(mine, [f"0100007F:{served.port:04X}"])
        with open(f"/proc/{served.process.pid}/net/tcp6", encoding="ascii") as table:
            self.assertFalse([line for line in table if line.split()[1].endswith(f":{served.port:04X}") and line.split()[3] == "0A"])


class Requests(unittest.TestCase):
    def test_every_answer_keeps_others_out(self):
        for method, target in (("GET", "/"), ("GET", "/form.js"), ("GET", "/api/catalogue"), ("GET", "/none"), ("PUT", "/"), ("HEAD", "/")):
            _, headers, _ = served.ask(method, target)
            policy = headers["Content-Security-Policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertIn("frame-ancestors 'none'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Referrer-Policy"], "no-referrer")
            self.assertEqual(headers["Cache-Control"], "no-store")

    def test_paths_are_no_files(self):
        for target in ("/../../../../etc/passwd", "/..%2f..%2f..%2fetc%2fpasswd", "/form.js/../../etc/passwd", "//etc/passwd",
                       "/%2e%2e/%2e%2e/etc/passwd", "/models/gpt3-13b.yaml", "/assets/page.html", "/.git/config", "/\\..\\etc"):
            answer = raw(b"GET " + target.encode() + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            self.assertEqual(status_of(answer), 404, target)
            self.assertNotIn(b"root:", answer)

    def test_other_methods(self):
        for method in ("PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"):
            status, headers, _ = served.ask(method, "/")
            self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"))
        status, headers, body = served.ask("HEAD", "/")
        self.assertEqual((status, body), (200, b""))
        self.assertEqual(int(headers["Content-Length"]), len(served.ask("GET", "/")[2]))
        self.assertEqual(served.ask("GET", "/api/simulate")[0], 405)

    def test_no_request_at_all(self):
        for text in (b"\x00" * 100, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"SSH-2.0-OpenSSH_9.2\r\n\r\n", b"GET /\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n", b"POST /api/simulate HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n"):
            self.assertEqual(status_of(raw(text)), 400, text)

    def test_two_lengths_are_none(self):
        both = (b"POST /api/simulate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertEqual(raw(both).count(b"HTTP/1.1 200"), 0)

    def test_early_requests_are_answered_in_their_order(self):
        one = b"GET /form.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
        body = json.dumps({"scenario": SCENARIO}).encode()
        two = b"POST /api/simulate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        last = b"GET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        answer = raw(one + two + one + last)
        order = [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]]
        self.assertEqual(order, [b"200", b"200", b"200", b"404"])

    def test_chunked_bodies(self):
        body = json.dumps({"scenario": SCENARIO}).encode()
        head = b"POST /api/simulate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 100]), body[i:i + 100]) for i in range(0, len(body), 100))
        self.assertEqual(status_of(raw(head + chunks + b"0\r\n\r\n")), 200)
        endless = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        self.assertEqual(status_of(raw(head + endless * 12)), 413)
        self.assertEqual(status_of(raw(head + b"-2\r\nxx\r\n")), 400)


class Bodies(unittest.TestCase):
    def refused(self, body, status=400):
        got, _, text = served.ask("POST", "/api/simulate", body, JSON)
        self.assertEqual(got, status, text[:300])
        error = json.loads(text)["error"]
        self.assertTrue(error["message"])
        return error

    def test_broken_json_and_yaml(self):
        for body in ("", "{", "[1, 2]", '{"scenario": 7}', "model: gpt3-175b", '{"scenario": "x", "command": "rm"}', b'{"scenario": "\xff"}', "\x00"):
            self.refused(body)
        error = self.refused(json.dumps({"scenario": "model: gpt3-175b\ncluster: {nodes: [\n"}))
        self.assertEqual((error["file"], error["line"] > 1), ("scenario", True))
        error = self.refused(json.dumps({"scenario": SCENARIO.replace("tensor: 8", "tensr: 8")}))
        line = SCENARIO[:SCENARIO.index("tensor: 8")].count("\n") + 1
        self.assertEqual((error["line"], error["column"], error["hint"]), (line, 3, "did you mean 'tensor'?"))
        for tag in ("!!python/object/apply:os.system [x]", "!ruby/object:Gem::Requirement {}"):
            self.refused(json.dumps({"scenario": f"model: {tag}"}))

    def test_deep_ones(self):
        for deep in ("[" * 50000, "{a: " * 50000, "- " * 50000, "&a [*a]", "a: &a\n  b: *a"):
            self.refused(json.dumps({"scenario": deep}))
        self.refused('{"scenario": ' * 20000)
        bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi"))
        self.refused(json.dumps({"scenario": bomb}))

    def test_files_are_refused_at_their_place(self):
        for key, value in (("model", "/etc/passwd"), ("model", "../models/gpt3-13b.yaml"), ("strategy.schedule", "/etc/passwd"),
                           ("cluster.nodes[0].topology", "/etc/hosts"), ("cluster.price", "/etc/prices.yaml"), ("training.framework", "./x.yaml"),
                           ("cluster.perturbations.ranks", "/proc/self/environ")):
            status, answer = served.post("/api/simulate", {"scenario": SCENARIO, "set": {key: value}})
            self.assertEqual(status, 400, key)
            self.assertIn("files are not read here", answer["error"]["message"])
            self.assertEqual(answer["error"]["file"], "scenario")
            self.assertGreater(answer["error"]["line"], 0)

    def test_a_large_body(self):
        head = b"POST /api/simulate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % 100_000_000
        begin = time.monotonic()
        with socket.create_connection(("127.0.0.1", served.port), timeout=15) as connection:
            connection.sendall(head)
            self.assertEqual(status_of(connection.recv(4096)), 413)  # before any of it is sent
            try:
                for _ in range(1600):
                    connection.sendall(b"x" * 65536)
            except OSError:
                pass  # closed: as it should be
        self.assertLess(time.monotonic() - begin, 12)
        with open(f"/proc/{served.process.pid}/status", encoding="ascii") as text:
            peak = next(int(line.split()[1]) for line in text if line.startswith("VmHWM"))
        self.assertLess(peak, 1_000_000)  # KiB

    def test_large_headers(self):
        answer = raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"y" * 100) for i in range(1000)) + b"\r\n")
        self.assertEqual(status_of(answer), 431)
        self.assertIn(status_of(raw(b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")), (400, 431))


class Crowds(unittest.TestCase):
    def test_a_slow_client_is_told_to_go(self):
        begin = time.monotonic()
        with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
            answer = b""
            while not answer and time.monotonic() - begin < 18:
                try:
                    connection.sendall(b"X-a: b\r\n")
                    connection.settimeout(0.5)
                    answer = connection.recv(4096)
                except TimeoutError:
                    pass
        self.assertEqual(status_of(answer), 408)
        self.assertLess(time.monotonic() - begin, 13)

    def test_200_connections_at_once(self):
        files = open_files()
        held = [socket.create_connection(("127.0.0.1", served.port), timeout=20) for _ in range(200)]
        turned_away = 0
        for connection in held:
            connection.settimeout(0.02)
            try:
                turned_away += status_of(connection.recv(4096)) == 503
            except TimeoutError:
                pass
        self.assertGreaterEqual(turned_away, 200 - 64)
        for connection in held:
            connection.close()
        time.sleep(0.3)
        self.assertEqual(served.ask("GET", "/")[0], 200)
        deadline = time.monotonic() + 5
        while open_files() > files + 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertLessEqual(open_files(), files + 2)

    def test_many_are_answered_alike(self):
        body = {"scenario": SCENARIO}
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            answers = list(pool.map(lambda _: served.post("/api/simulate", body), range(60)))
        self.assertEqual({status for status, _ in answers}, {200})
        self.assertEqual(len({answer["page"]["result"]["iteration_time_s"] for _, answer in answers}), 1)

    def test_simulations_are_answered_beside_a_search(self):
        large = "model: gpt3-175b\ncluster: {nodes: [{type: dgx-a100-80g, count: 384}]}\ntraining: {global_batch: 3072}\n"
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            search = pool.submit(served.post, "/api/search", {"scenario": large, "time_limit_s": 3})
            time.sleep(0.3)
            begin = time.monotonic()
            self.assertEqual(served.post("/api/simulate", {"scenario": SCENARIO})[0], 200)
            self.assertLess(time.monotonic() - begin, 2)
            status, found = search.result(timeout=60)
        self.assertEqual(status, 200)
        if not found["page"]["result"]["complete"]:
            self.assertEqual(found["time_limit_s"], 3)


class Answers(unittest.TestCase):
    def test_figures_are_those_of_the_program(self):
        printed = json.loads(subprocess.run([PROGRAM, "simulate", f"{TREE}/scenarios/gpt3-175b-a100.yaml", "--format", "json"],
                                            capture_output=True, check=True, timeout=60).stdout)
        status, answer = served.post("/api/simulate", {"scenario": SCENARIO})
        self.assertEqual(status, 200)
        result = answer["page"]["result"]
        for figures in (printed, result):
            figures.pop("wall_time_s")
        for key in ("program_version", "data_hash"):
            self.assertEqual(answer[key], printed.pop(key))
        self.assertEqual(result, printed)


def show_times():
    body = json.dumps({"scenario": SCENARIO})
    connection = served.connection()
    times = []
    for _ in range(50):
        begin = time.perf_counter()
        connection.request("POST", "/api/simulate", body, JSON)
        size = len(connection.getresponse().read())
        times.append(1000 * (time.perf_counter() - begin))
    print(f"gpt3-175b-a100: median {statistics.median(times):.1f} ms, longest {max(times):.1f} ms, {size / 1000:.0f} kB")


with serve(PROGRAM, TREE) as served:
    if "--time" in sys.argv:
        show_times()
    else:
        result = unittest.main(argv=[sys.argv[0]], exit=False, verbosity=2).result
if "--time" not in sys.argv and not result.wasSuccessful():
    sys.exit(1)
