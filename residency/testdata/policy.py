"""A trace of router choices and what LFU and LRU make of it, for TestPolicyReplaysTheTraceOfAnotherProgram.

    python3 policy.py > policy.json

One layer of 32 experts, 8 chosen per step, skewed and drifting. The rule, in terms of plain dictionaries: all wanted
experts stay; for each absent one, in the order of the choice, the wanted-least expert of the others leaves: fewest
uses so far (LFU only), then longest unused.
"""
import json
import random

EXPERTS, CHOSEN, STEPS = 32, 8, 240


def trace():
    rng = random.Random(20260801)
    out = []
    for step in range(STEPS):
        shift = step // 60 * 5
        left = {(e + shift) % EXPERTS: 1.0 / (e + 2) for e in range(EXPERTS)}
        choice = []
        for _ in range(CHOSEN):
            e = rng.choices(list(left), list(left.values()))[0]
            choice.append(e)
            del left[e]
        out.append(choice)
    return out


def replay(steps, slots, frequency):
    uses, latest, resident, clock = {}, {}, [], 0
    misses = []
    for choice in steps:
        for e in choice:
            clock += 1
            uses[e] = uses.get(e, 0) + 1
            latest[e] = clock
        n = 0
        for e in choice:
            if e in resident:
                continue
            n += 1
            if len(resident) == slots:
                others = [x for x in resident if x not in choice]
                others.sort(key=lambda x: (uses[x] if frequency else 0, latest[x]))
                resident.remove(others[0])
            resident.append(e)
        misses.append(n)
    return dict(misses=misses, resident=sorted(resident))


steps = trace()
runs = [dict(slots=s, policy=p, **replay(steps, s, p == "lfu")) for s in (8, 9, 12, 16, 31, 32) for p in ("lfu", "lru")]
print(json.dumps(dict(experts=EXPERTS, steps=steps, runs=runs), separators=(",", ":")))
