#!/usr/bin/env python3
"""Signatures beside those of botocore, the library of the service's own tools.

    SIGN_REQUESTS=build/dev/tests/sign_requests tests/dynamodb/botocore_test.py [TEST...]

botocore is in the Python environment that scripts/fetch-python-package makes; where it cannot be
made, the test fails. STINT_TEST_SEED repeats a run.
"""

import datetime
import hashlib
import json
import os
import pathlib
import random
import string
import subprocess
import sys
import types
import unittest
import unittest.mock
import urllib.parse

REQUESTS = 1500
DIGEST_HEADER = "x-amz-content-sha256"
SIGN_REQUESTS = os.path.abspath(os.environ.get("SIGN_REQUESTS", "sign_requests"))
SEED = int(os.environ.get("STINT_TEST_SEED") or random.SystemRandom().randrange(1, 100_000))


def python_with_botocore():
    """The interpreter of the environment that has botocore, made if need be."""
    fetch = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "fetch-python-package"
    result = subprocess.run([fetch], text=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                            check=False)
    if result.returncode != 0:
        sys.exit("botocore_test: without botocore signatures cannot be compared")
    return result.stdout.strip()


if __name__ == "__main__":
    if not os.environ.get("STINT_BOTOCORE_STARTED"):
        python = python_with_botocore()
        os.execve(python, [python, *sys.argv], {**os.environ, "STINT_BOTOCORE_STARTED": "1"})

    import botocore.auth
    import botocore.awsrequest
    import botocore.credentials

VALUE_CHARACTERS = string.ascii_letters + string.digits + " !#$%&'()*+,-./:;<=>?@[]^_`{|}~\""
PATH_CHARACTERS = string.ascii_letters + string.digits + " -._~!$&'()*+,;=:@\u00e9\u4e16%"


def text(rng, characters, longest):
    return "".join(rng.choice(characters) for _ in range(rng.randrange(longest + 1)))


def random_path(rng):
    segments = []
    for _ in range(rng.randrange(5)):
        kind = rng.randrange(10)
        if kind == 0:
            segments.append("")
        elif kind == 1:
            segments.append(".")
        elif kind == 2:
            segments.append("..")
        else:
            segments.append(urllib.parse.quote(text(rng, PATH_CHARACTERS, 12), safe="!$&'()*+,;=:@"))
    return "/" + "/".join(segments)


def random_query(rng):
    names = [text(rng, PATH_CHARACTERS, 6) or "n" for _ in range(rng.randrange(1, 4))]
    pairs = []
    for _ in range(rng.randrange(6)):
        name = urllib.parse.quote(rng.choice(names), safe="")
        value = urllib.parse.quote(text(rng, PATH_CHARACTERS, 8), safe="")
        pairs.append(name if rng.randrange(8) == 0 else f"{name}={value}")
    return "&".join(pairs)


def random_headers(rng):
    stems = ["x-amz-target", "x-amz-meta", "x-a", "x-a-b", "X-A-B-C", "content-type", "Accept",
             "x-amz-acl", "My-Header1", "my-header10"]
    headers = []
    for _ in range(rng.randrange(8)):
        name = rng.choice(stems)
        if rng.randrange(3) == 0:
            name += "-" + text(rng, string.ascii_letters + string.digits, 4)
        name = "".join(rng.choice((c.lower(), c.upper())) for c in name).rstrip("-")
        headers.append([name, text(rng, VALUE_CHARACTERS, 30)])
    return headers


def random_request(rng):
    service = rng.choice(["dynamodb", "sts", "iam", "service", "s3"])
    moment = rng.randrange(0, 4_102_444_800_000)
    body = rng.choice(["", "{}", json.dumps({"Key": {"PK": {"S": text(rng, VALUE_CHARACTERS, 40)}}}),
                       text(rng, PATH_CHARACTERS, 200)])
    request = {
        "method": rng.choice(["GET", "POST", "PUT", "DELETE", "HEAD"]),
        "host": rng.choice(["dynamodb.eu-west-1.amazonaws.com", "localhost:8000", "[::1]:8000",
                            "example.com"]),
        "path": random_path(rng),
        "query": random_query(rng),
        "headers": random_headers(rng),
        "body": body,
        "service": service,
        "region": rng.choice(["us-east-1", "eu-west-1", "cn-north-1", "local"]),
        "key": "AKID" + text(rng, string.ascii_uppercase + string.digits, 16),
        "secret": text(rng, string.ascii_letters + string.digits + "/+=", 60) or "s",
        "token": rng.choice(["", text(rng, string.ascii_letters + string.digits + "/+=", 400)]),
        "now_ms": moment,
    }
    if service == "s3":
        # There the request itself has to say its digest, or that it is not signed.
        digest = rng.choice(["UNSIGNED-PAYLOAD", hashlib.sha256(body.encode()).hexdigest()])
        request["headers"].append([DIGEST_HEADER, digest])
    return request


def by_botocore(request):
    """What botocore adds, by its public signer with the clock set."""
    moment = datetime.datetime.fromtimestamp(request["now_ms"] // 1000, datetime.timezone.utc)

    credentials = botocore.credentials.Credentials(
        request["key"], request["secret"], request["token"] or None)
    signer = botocore.auth.SigV4Auth
    if request["service"] == "s3":
        signer = botocore.auth.S3SigV4Auth
    url = f"https://{request['host']}{request['path']}"
    if request["query"]:
        url += "?" + request["query"]
    prepared = botocore.awsrequest.AWSRequest(
        method=request["method"], url=url, data=request["body"].encode())
    for name, value in request["headers"]:
        # Not replaced but added, so that those of one name are merged.
        prepared.headers.add_header(name, value)
    # It puts its own digest in place of the one that was given; this makes it the same.
    signs_body = [DIGEST_HEADER, "UNSIGNED-PAYLOAD"] not in request["headers"]
    prepared.context["client_config"] = types.SimpleNamespace(
        s3={"payload_signing_enabled": signs_body})
    auth = signer(credentials, request["service"], request["region"])
    with unittest.mock.patch.object(botocore.auth, "get_current_datetime", lambda: moment):
        auth.add_auth(prepared)
    return {
        "authorization": prepared.headers["Authorization"],
        "x-amz-date": prepared.headers["X-Amz-Date"],
        **({"x-amz-security-token": request["token"]} if request["token"] else {}),
    }


class BotocoreTest(unittest.TestCase):
    maxDiff = None

    def test_equal_signatures(self):
        rng = random.Random(SEED)
        requests = [random_request(rng) for _ in range(REQUESTS)]
        lines = []
        for request in requests:
            headers = request["headers"] + [["Host", request["host"]]]
            lines.append(json.dumps({**request, "headers": headers}))
        done = subprocess.run([SIGN_REQUESTS], input="\n".join(lines) + "\n", text=True,
                              capture_output=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = done.stdout.splitlines()
        self.assertEqual(len(answers), REQUESTS)
        for request, answer in zip(requests, answers):
            with self.subTest(request=request):
                self.assertEqual(json.loads(answer), by_botocore(request))


if __name__ == "__main__":
    print(f"seed {SEED} (repeat with STINT_TEST_SEED={SEED})")
    unittest.main()
