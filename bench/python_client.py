"""The Python package as scripts/bench-beside-python measures it: bench/dynamodb_client.cc's other side.

    scripts/fetch-python-package bench/python_client.py TABLE ENDPOINT REGION

Takes one command a line and answers with one JSON object a line:

    steady COUNT IN_FLIGHT ENTITY RESOURCE NAME=TOKENS...

The package zae-limiter is used by its public names, as its own documents show.
"""

import asyncio
import json
import sys
import time

import zae_limiter


async def acquire(limiter, count, entity, resource, consume):
    for _ in range(count):
        async with limiter.acquire(entity, resource, consume):
            pass


async def steady(limiter, words):
    count, in_flight = int(words[0]), int(words[1])
    entity, resource = words[2], words[3]
    consume = {name: int(tokens) for name, tokens in (word.split("=") for word in words[4:])}
    shares = [count // in_flight + (i < count % in_flight) for i in range(in_flight)]
    processor, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*(acquire(limiter, share, f"{entity}-{i}", resource, consume)
                           for i, share in enumerate(shares)))
    return {"count": count, "cpu_s": time.process_time() - processor,
            "wall_s": time.perf_counter() - wall}


async def serve(table, endpoint, region):
    repository = await zae_limiter.Repository.connect("default", stack=table, region=region,
                                                      endpoint_url=endpoint)
    limiter = zae_limiter.RateLimiter(repository=repository)
    try:
        # Nothing else is to be done meanwhile, so reading may block.
        for line in sys.stdin:
            words = line.split()
            if words[0] != "steady":
                raise SystemExit(f"python_client: there is no command {words[0]}")
            print(json.dumps(await steady(limiter, words[1:])), flush=True)
    finally:
        await repository.close()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
