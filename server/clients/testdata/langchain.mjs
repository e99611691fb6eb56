import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { assert, baseURL, endless, image, imageAnswer, imageQuestion, main, model, refuses, weatherResult } from "./shared.mjs";

const make = (more) => new ChatOpenAI({ model, apiKey: "none", temperature: 0, maxRetries: 0, configuration: { baseURL }, ...more });
const chat = make();
const getWeather = tool(async () => weatherResult, {
  name: "get_weather", description: "Get the current weather for a city.",
  schema: z.object({ city: z.string().describe("City name") }),
});

await main({
  async answer() {
    const a = await chat.invoke("What is the capital of Peru?");
    assert.equal(a.content, "The capital of Peru is Lima.");
    assert.equal(a.usage_metadata.total_tokens, 27);
  },

  async stream() {
    let text = "";
    for await (const chunk of await chat.stream("What is the capital of Peru?")) text += chunk.content;
    assert.equal(text, "The capital of Peru is Lima.");
  },

  async "tool loop"() {
    const bound = chat.bindTools([getWeather]);
    const messages = [new HumanMessage("What is the weather in Lisbon?")];
    const a = await bound.invoke(messages);
    assert.equal(a.tool_calls.length, 1);
    assert.deepEqual(a.tool_calls[0].args, { city: "Lisbon" });
    const result = await getWeather.invoke(a.tool_calls[0]);
    assert(result instanceof ToolMessage);
    const b = await bound.invoke([...messages, a, result]);
    assert.equal(b.content, "The weather in Lisbon is sunny at 21 degrees.");
  },

  async "tool call, streamed"() {
    let whole;
    for await (const chunk of await chat.bindTools([getWeather]).stream("What is the weather in Lisbon?")) {
      whole = whole ? whole.concat(chunk) : chunk;
    }
    assert.deepEqual(whole.tool_calls[0].args, { city: "Lisbon" });
  },

  async errors() {
    await refuses(chat.invoke("word ".repeat(5000)), (e) => assert.match(String(e.message), /maximum context length is 4096/));
    await refuses(make({ model: "other" }).invoke("Hello"), (e) => assert.equal(e.status, 404));
  },

  async cancel() {
    const controller = new AbortController();
    let chunks = 0;
    try {
      const long = make({ modelKwargs: { logit_bias: endless } });
      for await (const _ of await long.stream("Count from 1 to 9.", { signal: controller.signal })) {
        if (++chunks === 5) controller.abort();
      }
    } catch (e) {
      assert.match(String(e), /abort/i);
    }
    assert(chunks >= 5);
    assert.equal((await make({ timeout: 5000 }).invoke("Hello")).content, "Hello! How can I help you?");
  },

  async image() {
    if (!image) return "skip";
    const a = await chat.invoke([new HumanMessage({ content: [{ type: "image_url", image_url: { url: image } }, { type: "text", text: imageQuestion }] })]);
    assert.equal(a.content, imageAnswer);
  },
});
