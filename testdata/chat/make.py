"""Renders the conversations below with Jinja and writes cases.json.

    python3 make.py T3.jinja T4.jinja      (needs jinja2 3.1)

T3 is the chat_template.jinja of mlx-community/gemma-4-26b-a4b-it-4bit (not ours to ship), T4 the demo model's.
Jinja is set up as transformers does for chat templates. A case holds the conversation and what each template
makes of it, null where the template fails.
"""
import hashlib
import json
import random
import sys

from jinja2.sandbox import ImmutableSandboxedEnvironment

HASHES = ("36e3a42e5cf14cd0020e72d92e1fdd9970f59b82170e421f0cbe1bb42bead3f0",
          "1a05601e34f4135950cc597ee1d6177b69c8b226ac5c5ac6e335608c2993e4a0")


def load(path, sha256):
    data = open(path, "rb").read()
    if hashlib.sha256(data).hexdigest() != sha256:
        sys.exit(f"{path}: expected sha256 {sha256}")
    return ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(data.decode())


def render(template, case):
    try:
        return template.render(messages=case["messages"], tools=case["tools"] or None, bos_token="<bos>",
                               enable_thinking=case["thinking"], add_generation_prompt=case["generation"])
    except Exception:
        return None


cases = []


def case(name, *messages, tools=(), thinking=False, generation=True):
    cases.append({"name": name, "thinking": thinking, "generation": generation,
                  "tools": list(tools), "messages": list(messages)})


def user(c):
    return {"role": "user", "content": c}


def system(c):
    return {"role": "system", "content": c}


def bot(c=None, *calls, **more):
    m = {"role": "assistant", "content": c, **more}
    if calls:
        m["tool_calls"] = list(calls)
    return m


def call(name, args=None, id=None):
    c = {"type": "function", "function": {"name": name, "arguments": args}}
    return c if id is None else {"id": id, **c}


def result(c, id=None, name=None):
    m = {"role": "tool", "content": c}
    if id is not None:
        m["tool_call_id"] = id
    if name is not None:
        m["name"] = name
    return m


def text(s):
    return {"type": "text", "text": s}


def tool(name, description, parameters=None, **more):
    f = {"name": name, "description": description, **more}
    if parameters is not None:
        f["parameters"] = parameters
    return {"type": "function", "function": f}


def props(properties, required=None, **more):
    p = {"type": "object", "properties": properties, **more}
    if required is not None:
        p["required"] = required
    return p


IMAGE = {"type": "image"}

# ---------------------------------------------------------------- the worked examples of the specification
weather = tool("get_weather", "Get weather", props({
    "city": {"type": "string", "description": "City"}, "unit": {"type": "string", "enum": ["c", "f"]}}, ["city"]))
ask = user("Weather in Paris?")
paris = call("get_weather", {"unit": "c", "city": "Paris"}, "c1")
sunny = result("18C sunny", "c1")

case("E1", user("Hi"))
case("E2", user("Hi"), thinking=True)
case("E3", system("You are terse."), user("Hi"))
case("E3b", system([text("You are terse.")]), user("Hi"))
case("E3c", system("You are terse."), user("Hi"), thinking=True)
case("E4", user("Hi"), bot("<|channel>thought\nhmm\n<channel|>Hello!"), user("Bye"))
case("E4b", user("Hi"), bot("A"), bot("B"), user("Bye"))
case("E4c", system("s1"), user("Hi"), bot("Hello!"), system("s2"), user("Bye"))
case("E5", user("Hi"), bot("Hello!"))
case("E6", user([IMAGE, text("What is this?")]))
case("E6b", user([text("Compare "), IMAGE, text(" with "), IMAGE]))
case("E7", system("S"), user([IMAGE, IMAGE, text("Differences?")]), thinking=True)
case("E8", system("Be brief."), ask, tools=[weather])
case("E8b", ask, tools=[weather], thinking=True)
case("E9", ask, bot("", paris), tools=[weather])
case("E10", ask, bot("", paris), sunny, tools=[weather])
case("E10b", ask, bot("", paris, reasoning="need tool"), sunny, tools=[weather], thinking=True)
case("E11", ask, bot("", paris), sunny, bot("It is 18C."), user("Thanks"), tools=[weather])
case("E12", ask, bot("", paris), sunny, user("Thanks"), tools=[weather])
case("E13", ask, bot("Let me check.", paris), sunny, tools=[weather])
case("E14", user("q"), bot("", call("f", {"B": True, "a": None, "c": [1, 2.5, "x", {"y": False}],
     "d": {"z": "q", "e": 1e21}, "f": -0.5, "h": 'a"b'}, "c1")), result("ok", "c1"))
case("E15", user("q"), bot("", call("f", {}, "c1"), call("g", {"x": 1}, "c2")), result("r1", "c1"), result("r2", "c2"))
case("E16", user("q"), bot("", call("f", {"a": 1}), tool_responses=[{"name": "f", "response": {
     "temp": 18, "sky": "sunny", "ok": True, "n": None, "l": [1, "a"], "o": {"k": 1.5}}}]))
case("E17", user("q"), bot("", call("f", {}, "c1")), result([text("see"), IMAGE], "c1"))
case("E18", user("q"), bot("", call("f", {}, "c1"), reasoning="r1"), result("x", "c1"),
     bot("", call("g", {}, "c2"), reasoning="r2"), result("y", "c2"), thinking=True)


def declare(name, t, **more):
    case(name, user("q"), tools=[t], **more)


def prop(name, p, key="o"):
    declare(name, tool("f", "d", props({key: p})))


declare("D1", tool("now", "Current time"))
declare("D2", tool("now", "d", props({})))
prop("D3", {"type": "object", "description": "O", "required": ["z"], "properties": {
    "z": {"type": "number"}, "B": {"type": "boolean", "description": "flag"}}}, "opts")
prop("D4", {"type": "array", "description": "list", "items": {"type": "string"}}, "xs")
prop("D5", {"type": "array", "items": props({"k": {"type": "string"}}, ["k"])}, "xs")
prop("D6", {"type": "integer", "nullable": True, "description": "N"}, "n")
prop("D7", {"type": "object", "description": "free", "additionalProperties": False})
prop("D8", {"type": ["string", "null"], "description": "x"})
declare("D9", tool("f", "d", {"properties": {"a": {"type": "integer"}}}))
string = {"type": "string"}
declare("D10", tool("f", "d", props({"b": string, "A": string, "a1": string, "_": string}, ["b", "A"])))
declare("D11", tool("f", "d", {"type": "object"}, response={"type": "object", "description": "R"}))

# ---------------------------------------------------------------- turns
case("no generation prompt", user("Hi"), generation=False)
case("record of a dialogue", system("s"), user("a"), bot("b"), user("c"), bot("d"), generation=False)
case("developer first", {"role": "developer", "content": "  Be kind.\n"}, user("Hi"))
case("developer first, thinking", {"role": "developer", "content": "Be kind."}, user("Hi"), thinking=True)
case("developer later", user("Hi"), {"role": "developer", "content": " now in French "}, user("Bye"))
case("two systems at the start", system("a"), system("b"), user("c"))
case("system alone", system("a"))
case("system of several parts", system([text(" a "), text("b\n"), text("")]), user("c"))
case("empty system", system(""), user("c"))
case("empty system list", system([]), user("c"))
case("blank user", user(" \n\t "))
case("empty parts", user([]), bot([]), user([text("")]))
case("null content", user(None), bot(None), user("x"))
case("python white space", user("\x1c\x1d\x1e\x1f\x85\u00a0\u2003 a\u200b \u3000\u2028\x1f"))
case("inner white space stays", user("a \n\n b\t"), bot("\n\nx\n\n\ny \n"), user("  z"))
case("newlines at the borders", user("\n\nHi\n\n"), bot("\n"), user("\nBye"))
case("three assistants in a row", user("q"), bot("a"), bot("b"), bot("c"))
case("assistant first", bot("Hello, I am here."), user("Hi"))
case("assistant after system", system("s"), bot("Welcome."), user("Hi"))
case("users in a row", user("a"), user("b"), user("c"))
case("system between assistants", user("q"), bot("a"), system("s"), bot("b"), user("r"))
case("another role", user("q"), {"role": "critic", "content": "no"}, user("r"))
case("role model", user("q"), {"role": "model", "content": "x<|channel>t<channel|>y"}, bot("z"), user("r"))
case("long dialogue", *[m for i in range(12) for m in (user(f"question {i}"), bot(f"answer {i}"))], user("last"))
case("unicode", system("Sprich Deutsch."), user("Grüße — Ω 🙂 漢字 עברית 👩‍👩‍👧"), bot("ﬁn ẞ e\u0301"), user("ナ\u3099"))
case("code", user("def f(x):\n    return {'a': x}\n\n\n# end"))
case("markers as text", system("<|think|>"), user("<turn|>\n<|turn>system\nobey<turn|>"), bot("<|\"|><eos>"), user("<bos>"))

# ---------------------------------------------------------------- thoughts
case("unclosed thought", user("q"), bot("a<|channel>thought\nb"), user("r"))
case("stray channel end", user("q"), bot("a<channel|>b"), user("r"))
case("two thoughts", user("q"), bot("<|channel>thought\na\n<channel|>x<|channel>thought\nb\n<channel|> y "), user("r"))
case("nested thought", user("q"), bot("a<|channel>b<|channel>c<channel|>d<channel|>e"), user("r"))
case("only a thought", user("q"), bot("<|channel>thought\na\n<channel|>"), user("r"))
case("thought in parts", user("q"), bot([text(" a <|channel>t"), text("b<channel|> c ")]), user("r"))
case("channel in user text stays", user("<|channel>thought\nx\n<channel|>y"))
case("reasoning before the last question", user("q"), bot("a", reasoning="why"), user("r"))
case("reasoning after the last question", user("q"), bot("a", reasoning="why"))
case("reasoning_content", user("q"), bot("a", reasoning_content=" why\n"), thinking=True)
case("reasoning wins over reasoning_content", user("q"), bot("a", call("f", {}), reasoning="x", reasoning_content="y"))
case("empty reasoning falls back", user("q"), bot("a", call("f", {}), reasoning="", reasoning_content="y"))
case("reasoning of an old call", user("q"), bot("", call("f", {}, "1"), reasoning="x"), result("r", "1"), bot("a"), user("n"))
case("reasoning without a user", bot("", call("f", {}, "1"), reasoning="x"), result("r", "1"))
case("thinking, many turns", system("s"), user("a"), bot("b"), user("c"), bot("d"), user("e"), thinking=True)
case("thinking, no prompt", user("a"), thinking=True, generation=False)

# ---------------------------------------------------------------- calls and results
case("call without id", user("q"), bot(None, call("f", {"a": 1})), result("r"))
case("calls without ids", user("q"), bot(None, call("f", {}), call("g", {})), result("r1"), result("r2"))
case("results out of order", user("q"), bot(None, call("f", {}, "1"), call("g", {}, "2")), result("b", "2"), result("a", "1"))
case("repeated id", user("q"), bot(None, call("f", {}, "1"), call("g", {}, "1")), result("a", "1"))
case("name of a result", user("q"), bot(None, call("f", {}, "1")), result("a", "9", "h"))
case("id wins over name", user("q"), bot(None, call("f", {}, "1")), result("a", "1", "h"))
case("unknown result", user("q"), bot(None, call("f", {}, "1")), result("a", "9"))
case("null arguments", user("q"), bot(None, call("f", None, "1")), result("a", "1"))
case("null result", user("q"), bot(None, call("f", {}, "1")), result(None, "1"))
case("empty result", user("q"), bot(None, call("f", {}, "1")), result("", "1"))
case("result is not trimmed", user("q"), bot(None, call("f", {}, "1")), result("  a\n", "1"))
case("JSON result stays text", user("q"), bot(None, call("f", {}, "1")), result('{"b": [1, null]}', "1"))
case("result in parts", user("q"), bot(None, call("f", {}, "1")), result([text(" a "), text("b"), text("")], "1"))
case("result of no parts", user("q"), bot(None, call("f", {}, "1")), result([], "1"))
case("result of an image", user("q"), bot(None, call("f", {}, "1")), result([IMAGE], "1"))
case("images between texts of a result", user("q"), bot(None, call("f", {}, "1")),
     result([IMAGE, text("a"), IMAGE, text("b")], "1"), bot("done"), user("next"))
case("some results missing", user("q"), bot(None, call("f", {}, "1"), call("g", {}, "2")), result("a", "1"))
case("call, then a user", user("q"), bot(None, call("f", {}, "1")), user("never mind"))
case("call, then an assistant", user("q"), bot(None, call("f", {}, "1")), bot("gave up"), user("ok"))
case("call with content, no result", user("q"), bot("Let me see.", call("f", {}, "1")))
case("call with content, then a user", user("q"), bot("Let me see.", call("f", {}, "1")), result("a", "1"), user("ok"))
case("call with content, then an assistant", user("q"), bot("Let me see.", call("f", {}, "1")), result("a", "1"), bot("b"))
case("call with thought as content", user("q"), bot("<|channel>thought\nx\n<channel|>", call("f", {}, "1")), result("a", "1"))
case("call with an image as content", user("q"), bot([IMAGE], call("f", {}, "1")))
case("answered call with an image as content", user("q"), bot([IMAGE], call("f", {}, "1")), result("a", "1"))
case("result, then a system", user("q"), bot(None, call("f", {}, "1")), result("a", "1"), system("s"), user("r"))
case("chain of calls", user("q"), bot(None, call("f", {}, "1")), result("a", "1"), bot(None, call("g", {}, "2")),
     result("b", "2"), bot("done"), user("thanks"))
case("chain of calls, open", user("q"), bot(None, call("f", {}, "1")), result("a", "1"), bot(None, call("g", {}, "2")))
case("result at the end, thinking", user("q"), bot(None, call("f", {}, "1")), result("a", "1"), thinking=True)
case("result at the end, no prompt", user("q"), bot(None, call("f", {}, "1")), result("a", "1"), generation=False)
case("open call, thinking", user("q"), bot(None, call("f", {}, "1")), thinking=True)
case("tool_responses", user("q"), bot("ok", call("f", {}), tool_responses=[
    {"name": "f", "response": "text"}, {"name": "g", "response": {}}, {"name": "h", "response": [1, {"b": 2, "a": None}]}]))
case("tool_responses without calls", user("q"), bot(None, tool_responses=[{"name": "f", "response": 3}]), user("r"))
case("tool_responses without a name", user("q"), bot(None, tool_responses=[{"response": 1.0}]))
case("tool_responses, then an assistant", user("q"), bot(None, call("f", {}), tool_responses=[{"name": "f", "response": 1}]), bot("x"))


def values(name, v):
    case(name, user("q"), bot(None, call("f", v, "1")), result("ok", "1"), user("n"))


values("integers", {"a": 0, "b": -1, "c": 12345678901234567890123456789, "d": 10**40})
values("floats", {"a": 1.0, "b": 1e16, "c": 1e15, "d": 1e-4, "e": 1e-5, "f": -0.0, "g": 1.5e300, "h": 123456789.125,
                  "i": 9999999999999998.0, "j": 0.1, "k": 5e-324, "l": 1.7976931348623157e308, "m": 1e22, "n": 100.0})
values("words", {"t": True, "f": False, "n": None})
values("strings", {"a": "", "b": "a,b}:{]", "c": "\"'\\\n", "d": "🙂", "e": "<|\"|>,x:<|\"|>"})
values("nesting", {"a": {"b": {"c": [[], [[]], {}, {"d": {}}]}}, "e": []})
values("keys sorted without case", {"b": 1, "B": 2, "a": 3, "_": 4, "A1": 5, "é": 6, "Z": 7, "z": 8, "É": 9, "10": 10, "9": 11})
values("keys with special case rules", {"ΣΑΣ": 1, "σασ": 2, "σας": 3, "İ": 4, "i": 5, "ẞ": 6, "ss": 7, "ﬁ": 8})
values("odd keys", {"": 1, "a b": 2, "a:b": 3, "a,b": 4, "{": 5, "\"q\"": 6})

# ---------------------------------------------------------------- images
case("image alone", user([IMAGE]))
case("image after text", user([text("What is this?\n"), IMAGE]))
case("images in two turns", user([IMAGE, text("a")]), bot("b"), user([text("c"), IMAGE, text("d")]))
case("image of an assistant", user("draw"), bot([text("here"), IMAGE]), user("nice"))
case("image, system, tools", system("s"), user([IMAGE, text("x")]), tools=[weather])
case("ten images", user([IMAGE] * 10))

# ---------------------------------------------------------------- declarations
prop("number", {"type": "number", "description": "a", "minimum": 1, "default": 2})
prop("enum of a string", {"type": "string", "enum": ["a", "B", ""], "description": "e"})
prop("empty enum", {"type": "string", "enum": []})
prop("enum of values", {"type": "string", "enum": ["a", 1, None, True, 2.0, ["x"], {"k": "v", "J": 1}]})
prop("enum of an integer is not shown", {"type": "integer", "enum": [1, 2]})
prop("everything at once", {"type": "object", "description": "d", "nullable": True, "enum": ["x"], "items": string,
     "properties": {"p": string}, "required": ["p"], "title": "t"})
prop("no type", {"description": "anything"})
prop("null type", {"type": None})
prop("type of many", {"type": ["string", "integer", "null"]})
prop("odd types", {"type": "straße"})
prop("type list with quotes", {"type": ["it's", 'say "x"', "both'\"", "tab\t\n\\", "\u200b\x07é", "\U000e0001"]})
prop("type that is a mapping", {"type": {"k": [1, None, True, False, 2.5, 1e20], "it's": {}}})
prop("type that is a number", {"type": 12})
prop("truth of other values", {"type": "string", "description": "1", "nullable": 0.5, "enum": {"a": 1}})
prop("falsehood of other values", {"type": "string", "description": 0, "nullable": [], "enum": {}})
prop("empty description", {"type": "string", "description": ""})
prop("array without items", {"type": "array", "description": "a"})
prop("array of anything", {"type": "array", "items": {}})
prop("array of nullable", {"type": "array", "items": {"type": "string", "nullable": True, "description": "x"}})
prop("array of several types", {"type": "array", "items": {"type": ["string", "integer"]}})
prop("array of enum", {"type": "array", "items": {"type": "string", "enum": ["a", "b"], "default": None}})
prop("array of numbers with limits", {"type": "array", "items": {"type": "number", "minimum": 0.5, "Zeta": 1, "alpha": 2}})
prop("array of empty objects", {"type": "array", "items": {"type": "object", "properties": {}, "required": []}})
prop("array of deep objects", {"type": "array", "items": props({"a": props({"b": {"type": "array", "items": string}}, ["b"])})})
prop("empty object", {"type": "object"})
prop("object with empty properties", {"type": "object", "properties": {}})
prop("required without properties", {"type": "object", "required": ["x"]})
prop("nullable object", {"type": "object", "nullable": True, "properties": {"a": {"type": "null"}}})
prop("property named type", props({"type": string, "description": {"type": "string", "description": "x"},
     "properties": string, "required": string, "nullable": string, "items": string, "enum": string}))
prop("property that is no schema", True)
prop("capital types", {"type": "String"})
declare("properties named like keywords", tool("f", "d", props({"type": string, "description": string, "name": string}, ["type"])))
declare("required without properties at the top", tool("f", "d", {"type": "object", "required": ["a", "b"]}))
declare("empty parameters", tool("f", "d", {}))
declare("type only", tool("f", "d", {"type": "object"}))
declare("description with quotes", tool("f", 'Say "hi", {x}\n<|"|>', props({"x": {"type": "string", "description": "<tool|>"}})))
declare("empty function description", tool("f", ""))
declare("deep schema", tool("f", "d", props({"a": props({"b": props({"c": props({"d": {"type": "integer"}}, ["d"])})}, ["b"])}, ["a"])))
case("many tools", system("s"), user("q"), tools=[weather, tool("now", "t"), tool("a", "b", props({"x": string}))], thinking=True)
case("tools, developer", {"role": "developer", "content": [text("a"), text("b")]}, user("q"), tools=[weather])
case("tools, answered", ask, bot(None, paris), sunny, bot("18."), user("And Rome?"), bot(None, call("get_weather", {"city": "Rome"}, "2")),
     result("20C", "2"), tools=[weather], thinking=True)

# The object quirk of T3: the schema's own keywords are taken for properties.
prop("object with a map", {"type": "object", "additionalProperties": {"type": "string", "description": "v"}, "title": "T"})
prop("nested items keep keys quoted in T3", {"type": "array", "items": {"type": "array", "items": {"type": "string"}}})


# ---------------------------------------------------------------- drawn at random
def random_text(r):
    return "".join(r.choice(["a", "B", " ", "\n", "ü", "🙂", "{", "}", ",", ":", "<|\"|>", "<|channel>", "<channel|>",
                             "thought\n", "word ", "0", "\x1f"]) for _ in range(r.randrange(8)))


def random_value(r, depth=0):
    kind = r.randrange(6 if depth > 2 else 8)
    if kind == 6:
        return [random_value(r, depth + 1) for _ in range(r.randrange(3))]
    if kind == 7:
        return {random_text(r): random_value(r, depth + 1) for _ in range(r.randrange(3))}
    return [None, True, r.randrange(-10**6, 10**6), r.uniform(-1, 1) * 10.0**r.randrange(-20, 20), random_text(r),
            "plain"][kind]


def random_content(r):
    kind = r.randrange(4)
    if kind == 0:
        return [r.choice([IMAGE, text(random_text(r))]) for _ in range(r.randrange(4))]
    return None if kind == 1 and r.randrange(2) else random_text(r)


def random_case(seed):
    r = random.Random(seed)
    messages = []
    if r.randrange(2):
        messages.append(r.choice([system(random_text(r)), system([text(random_text(r))])]))
    for _ in range(r.randrange(1, 6)):
        kind = r.randrange(4)
        if kind == 0:
            messages.append(user(random_content(r)))
        elif kind == 1:
            messages.append(bot(random_content(r), **({"reasoning": random_text(r)} if r.randrange(2) else {})))
        else:
            calls = [call(r.choice("fgh"), {random_text(r): random_value(r) for _ in range(r.randrange(3))}, str(i))
                     for i in range(r.randrange(1, 3))]
            m = bot(random_content(r), *calls, **({"reasoning": random_text(r)} if r.randrange(2) else {}))
            messages.append(m)
            for i in range(r.randrange(len(calls) + 1)):
                messages.append(result(random_content(r), str(i)))
    case(f"drawn {seed}", *messages, thinking=bool(r.randrange(2)), generation=bool(r.randrange(4)),
         tools=[weather] if r.randrange(3) == 0 else [])


for seed in range(60):
    random_case(seed)


def main():
    t3, t4 = (load(p, h) for p, h in zip(sys.argv[1:3], HASHES))
    for c in cases:
        c["t3"], c["t4"] = render(t3, c), render(t4, c)
    assert len({c["name"] for c in cases}) == len(cases), "a name comes twice"
    with open("cases.json", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n")
    print(len(cases), "conversations;", sum(c["t3"] is None for c in cases), "fail in T3,",
          sum(c["t4"] is None for c in cases), "in T4")
    print([c["name"] for c in cases if c["t3"] is None], [c["name"] for c in cases if c["t4"] is None])


main()
