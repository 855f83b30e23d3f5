"""A second reading of the rules of limits, in exact fractions and as plainly as they can be put.

It shares nothing with the product: no code, no integer arithmetic, no storage. A rate is a balance
that grows with time up to its capacity; a session quota is a window that an admitted use opens; a
calendar quota is restored at the minutes at which its expression begins to match.
"""

import bisect
import datetime
import zoneinfo
from fractions import Fraction

MINUTE_MS = 60_000


def floor_milli(tokens):
    """Tokens as the product shows them: cut to thousandths, downwards."""
    return Fraction((tokens * 1000).__floor__(), 1000)


class Rate:
    kind = "rate"

    def __init__(self, capacity, amount, period_s, soft=False):
        self.capacity = Fraction(capacity)
        self.amount = amount
        self.period_s = period_s
        self.per_ms = Fraction(amount, period_s * 1000)
        self.soft = soft

    def fresh(self):
        return {"balance": self.capacity, "at": None}

    def advance(self, state, now):
        if state["at"] is not None:
            gained = (now - state["at"]) * self.per_ms
            state["balance"] = min(self.capacity, state["balance"] + gained)
        state["at"] = now

    def take(self, state, now, cost):
        state["balance"] -= cost

    def wait(self, state, now, cost):
        return -((state["balance"] - cost) / self.per_ms).__floor__()

    def resets_at(self, state, now):
        return None


class Session:
    kind = "session"
    soft = False

    def __init__(self, capacity, length_s):
        self.capacity = Fraction(capacity)
        self.length = length_s * 1000

    def fresh(self):
        return {"balance": self.capacity, "begin": None}

    def advance(self, state, now):
        if state["begin"] is not None and now >= state["begin"] + self.length:
            state["begin"] = None
            state["balance"] = self.capacity

    def take(self, state, now, cost):
        if cost > 0 and state["begin"] is None:
            state["begin"] = now
        state["balance"] -= cost

    def wait(self, state, now, cost):
        return state["begin"] + self.length - now

    def resets_at(self, state, now):
        return None if state["begin"] is None else state["begin"] + self.length


class Calendar:
    kind = "calendar"
    soft = False

    def __init__(self, capacity, expression, zone="UTC"):
        self.capacity = Fraction(capacity)
        self.expression = expression
        self.zone = zone
        self.edges = []

    def prepare(self, first_ms, last_ms):
        """Finds all edges that matter for traffic between two instants."""
        self.edges = edges(self.expression, self.zone, first_ms - 86_400_000 * 9,
                           last_ms + 86_400_000 * 9)

    def fresh(self):
        return {"balance": self.capacity, "at": None}

    def advance(self, state, now):
        if state["at"] is not None:
            last_edge = self.edges[bisect.bisect_right(self.edges, now) - 1]
            if last_edge > state["at"]:
                state["balance"] = self.capacity
        state["at"] = now

    def take(self, state, now, cost):
        state["balance"] -= cost

    def next_edge(self, now):
        return self.edges[bisect.bisect_right(self.edges, now)]

    def wait(self, state, now, cost):
        return self.next_edge(now) - now

    def resets_at(self, state, now):
        return self.next_edge(now)


def field_values(text, first, last):
    values = set()
    for part in text.split(","):
        part, _, step = part.partition("/")
        low, high = first, last
        if part != "*":
            low, _, high = part.partition("-")
            high = int(high) if high else (last if step else int(low))
            low = int(low)
        values.update(range(low, high + 1, int(step or 1)))
    return values


def edges(expression, zone, first_ms, last_ms):
    """Instants at which the local time begins to match. Zones without changes of offset only."""
    minute, hour, day, month, weekday = expression.split()
    minutes, hours = field_values(minute, 0, 59), field_values(hour, 0, 23)
    days, months = field_values(day, 1, 31), field_values(month, 1, 12)
    weekdays = {value % 7 for value in field_values(weekday, 0, 7)}
    both = day.startswith("*") or weekday.startswith("*")
    place = zoneinfo.ZoneInfo(zone)
    found = []
    matched = True  # what matches at the very beginning has no edge there
    for at in range(first_ms // MINUTE_MS * MINUTE_MS, last_ms, MINUTE_MS):
        local = datetime.datetime.fromtimestamp(at // 1000, place)
        by_date = local.day in days
        by_weekday = local.isoweekday() % 7 in weekdays
        matches = (local.minute in minutes and local.hour in hours and local.month in months and
                   (by_date and by_weekday if both else by_date or by_weekday))
        if matches and not matched:
            found.append(at)
        matched = matches
    return found


class Simulation:
    """Decides requests one by one. `limits_of(entity, resource)` gives a dictionary of limits."""

    def __init__(self, limits_of):
        self.limits_of = limits_of
        self.buckets = {}

    def decide(self, now, entity, resource, costs):
        """The decision as the product writes it, or None for a request that names unknown limits."""
        limits = self.limits_of(entity, resource)
        if not costs or any(name not in limits for name in costs):
            return None
        bucket = self.buckets.setdefault((entity, resource), {})
        for name, limit in limits.items():
            limit.advance(bucket.setdefault(name, limit.fresh()), now)
        short = [name for name, cost in costs.items()
                 if not limits[name].soft and bucket[name]["balance"] < cost]
        admitted = not short
        wait = None
        never = {name for name, cost in costs.items()
                 if not limits[name].soft and cost > limits[name].capacity}
        if admitted:
            for name, cost in costs.items():
                limits[name].take(bucket[name], now, cost)
        elif not never:
            wait = max(limits[name].wait(bucket[name], now, costs[name]) for name in short)
        return {
            "time_ms": now, "entity": entity, "resource": resource, "admitted": admitted,
            "short": short, "retry_after_ms": wait,
            "resets_at_ms": {name: None if name in never
                             else limits[name].resets_at(bucket[name], now)
                             for name in costs if limits[name].kind != "rate"},
            "remaining": {name: floor_milli(bucket[name]["balance"]) for name in costs},
        }
