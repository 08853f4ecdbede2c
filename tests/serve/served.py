"""`mirfak serve` for the time of a test."""

import contextlib
import http.client
import json
import re
import signal
import subprocess


class Served:
    def __init__(self, process, port):
        self.process = process
        self.port = port
        self.url = f"http://127.0.0.1:{port}/"

    def connection(self, timeout=30):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method, target, body=None, headers=None):
        """Status, headers and body of one request on a connection of its own."""
        connection = self.connection()
        try:
            connection.request(method, target, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def post(self, target, body):
        status, _, text = self.ask("POST", target, json.dumps(body), {"Content-Type": "application/json"})
        return status, json.loads(text)


@contextlib.contextmanager
def serve(program, data):
    process = subprocess.Popen([program, "serve", "--port", "0", "--data", data], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", line)
        assert found, f"it prints {line!r}: {process.stderr.read() if process.poll() is not None else ''}"
        yield Served(process, int(found[1]))
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=20)
        assert (process.returncode, rest, errors) == (0, "", ""), (process.returncode, rest, errors)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
