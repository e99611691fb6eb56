"""The Python client against the server, in the manner of openai.mjs."""
import os
import sys
import traceback

import openai

client = openai.OpenAI(base_url=os.environ["FIELDFARE_URL"] + "/v1", api_key="none", max_retries=0)
MODEL = "demo"
ENDLESS = {"1": -100, "106": -100}
TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "Get the current weather for a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "City name"}}}}}]


def ask(content, **more):
    return client.chat.completions.create(
        model=MODEL, temperature=0, messages=[{"role": "user", "content": content}], **more)


def answer():
    a = ask("What is the capital of Peru?")
    assert a.choices[0].message.content == "The capital of Peru is Lima.", a
    assert a.usage.total_tokens == 27, a.usage


def stream():
    text, usage = "", None
    for chunk in ask("What is the capital of Peru?", stream=True, stream_options={"include_usage": True},
                     extra_body={"return_progress": True}):
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
        usage = chunk.usage or usage
    assert text == "The capital of Peru is Lima.", text
    assert usage.completion_tokens == 7, usage


def tool_loop():
    a = ask("What is the weather in Lisbon?", tools=TOOLS).choices[0].message
    call = a.tool_calls[0]
    assert call.function.arguments == '{"city":"Lisbon"}', call
    b = client.chat.completions.create(model=MODEL, temperature=0, tools=TOOLS, messages=[
        {"role": "user", "content": "What is the weather in Lisbon?"}, a,
        {"role": "tool", "tool_call_id": call.id, "content": '{"temp_c": 21, "condition": "sunny"}'}])
    assert b.choices[0].message.content == "The weather in Lisbon is sunny at 21 degrees.", b


def tool_call_streamed():
    with client.chat.completions.stream(model=MODEL, temperature=0, tools=TOOLS, messages=[
            {"role": "user", "content": "What is the weather in Lisbon?"}]) as events:
        final = [e for e in events] and events.get_final_completion()
    assert final.choices[0].message.tool_calls[0].function.arguments == '{"city":"Lisbon"}', final


def errors():
    for more, kind, code in [
            ({"n": 2}, openai.BadRequestError, "unsupported_value"),
            ({"extra_body": {"made_up": 1}}, openai.BadRequestError, "unknown_parameter")]:
        try:
            ask("Hello", **more)
        except kind as e:
            assert e.code == code, e
        else:
            raise AssertionError("the request was answered")


def cancel():
    events = ask("Count from 1 to 9.", stream=True, logit_bias=ENDLESS)
    for i, _ in enumerate(events):
        if i == 5:
            events.close()
            break
    assert ask("Hello", timeout=5).choices[0].message.content == "Hello! How can I help you?"


def image():
    url = os.environ.get("FIELDFARE_IMAGE")
    if not url:
        return "skip"
    a = ask([{"type": "image_url", "image_url": {"url": url}},
             {"type": "text", "text": os.environ["FIELDFARE_IMAGE_QUESTION"]}])
    assert a.choices[0].message.content == os.environ["FIELDFARE_IMAGE_ANSWER"], a


failed = False
for test in [answer, stream, tool_loop, tool_call_streamed, errors, cancel, image]:
    try:
        print("skip" if test() == "skip" else "ok", test.__name__)
    except Exception:
        failed = True
        print("FAILED", test.__name__, traceback.format_exc())
sys.exit(failed)
