"""The DynamoDB server of the tests, started for one test program.

    with Dynoxide() as server:
        server.endpoint                      # "http://127.0.0.1:PORT"
        server.call("ListTables", {})        # a request without any library

The program is STINT_DYNOXIDE, or what scripts/fetch-dynoxide installed.
"""

import http.client
import json
import os
import pathlib
import subprocess
import time

# Any pair will do: the server does not check signatures.
KEY_ID = "AKIDEXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
REGION = "eu-central-1"


def binary():
    """Where the server is; SystemExit with what to do when it is not there."""
    tools = os.environ.get("STINT_TOOLS_DIR") or pathlib.Path.home() / ".cache" / "stint-tools"
    path = pathlib.Path(os.environ.get("STINT_DYNOXIDE") or f"{tools}/dynoxide/dynoxide")
    if not os.access(path, os.X_OK):
        raise SystemExit(f"no DynamoDB server at {path}: run scripts/fetch-dynoxide")
    return path


def listening_port(pid):
    """The TCP port that a process listens on, or None: of several, the lowest."""
    try:
        files = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")]
        rows = pathlib.Path(f"/proc/{pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return None
    inodes = {name[len("socket:["):-1] for name in files if name.startswith("socket:[")}
    ports = []
    for row in rows:
        fields = row.split()
        listening = fields[3] == "0A"
        if listening and fields[9] in inodes:
            ports.append(int(fields[1].rpartition(":")[2], 16))
    return min(ports, default=None)


class ServerError(Exception):
    """An answer other than 200."""

    def __init__(self, status, kind, body):
        super().__init__(f"{status} {kind}: {body}")
        self.status = status
        self.kind = kind
        self.body = body


class Dynoxide:
    """A running server with empty memory. Not for use by several threads."""

    def __init__(self, patience=20.0):
        """Starts it and waits until it answers, at most `patience` seconds."""
        # The kernel picks the port, so that no two test programs ever want the same one; the
        # server does not say which it got. It goes when its parent does, however that ends.
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", str(binary()), "--host", "127.0.0.1", "--port", "0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.port = None
        deadline = time.monotonic() + patience
        while not self._answers():
            if self._process.poll() is not None:
                raise RuntimeError(f"the DynamoDB server ended with {self._process.returncode}: "
                                   f"{self._process.stderr.read().decode(errors='replace')}")
            if time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"the DynamoDB server did not answer within {patience} s")
            time.sleep(0.005)

    def _answers(self):
        self.port = self.port or listening_port(self._process.pid)
        if self.port is None:
            return False
        try:
            self.call("ListTables", {})
            return True
        except OSError:
            return False

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self):
        """What a program of the standard credential order needs to use it."""
        return {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": REGION,
                "AWS_DEFAULT_REGION": REGION, "AWS_EC2_METADATA_DISABLED": "true"}

    def call(self, operation, request):
        """One request; the answer as JSON. ServerError when the server refuses."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("POST", "/", json.dumps(request), {
                "Content-Type": "application/x-amz-json-1.0",
                "X-Amz-Target": f"DynamoDB_20120810.{operation}",
                "X-Amz-Date": "20270113T120000Z",
                "Authorization": f"AWS4-HMAC-SHA256 Credential={KEY_ID}/20270113/{REGION}/dynamodb/"
                                 "aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, "
                                 "Signature=0"})
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        document = json.loads(body) if body else {}
        if answer.status != 200:
            kind = str(document.get("__type", "")).rpartition("#")[2]
            raise ServerError(answer.status, kind, document)
        return document

    def scan(self, table, **request):
        """All items of a table."""
        items = []
        start = {}
        while True:
            page = self.call("Scan", {"TableName": table, "ConsistentRead": True, **request,
                                      **start})
            items += page["Items"]
            if "LastEvaluatedKey" not in page:
                return items
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def stop(self):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
