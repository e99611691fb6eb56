import OpenAI from "openai";
import { assert, baseURL, endless, image, imageAnswer, imageQuestion, main, model, refuses, weather, weatherResult } from "./shared.mjs";

const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const ask = (content) => ({ model, temperature: 0, messages: [{ role: "user", content }] });

await main({
  async answer() {
    const a = await client.chat.completions.create(ask("What is the capital of Peru?"));
    assert.equal(a.choices[0].message.content, "The capital of Peru is Lima.");
    assert.equal(a.choices[0].finish_reason, "stop");
  },

  async stream() {
    const stream = await client.chat.completions.create({
      ...ask("What is the capital of Peru?"), stream: true, stream_options: { include_usage: true }, return_progress: true,
    });
    let text = "", finish, usage;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta?.content ?? "";
      finish = chunk.choices[0]?.finish_reason ?? finish;
      usage = chunk.usage ?? usage;
    }
    assert.equal(text, "The capital of Peru is Lima.");
    assert.equal(finish, "stop");
    assert.equal(usage.total_tokens, 27);
  },

  async "tool loop with the runner"() {
    let asked;
    const runner = client.chat.completions.runTools({
      ...ask("What is the weather in Lisbon?"),
      tools: [{ type: "function", function: { ...weather, parse: JSON.parse, function: (a) => { asked = a; return weatherResult; } } }],
    });
    assert.equal(await runner.finalContent(), "The weather in Lisbon is sunny at 21 degrees.");
    assert.deepEqual(asked, { city: "Lisbon" });
  },

  async "tool loop, streamed"() {
    let calls = 0;
    const runner = client.chat.completions.runTools({
      ...ask("What is the weather in Lisbon?"), stream: true,
      tools: [{ type: "function", function: { ...weather, parse: JSON.parse, function: () => { calls++; return weatherResult; } } }],
    });
    assert.equal(await runner.finalContent(), "The weather in Lisbon is sunny at 21 degrees.");
    assert.equal(calls, 1);
  },

  async logprobs() {
    const a = await client.chat.completions.create({ ...ask("Hello"), logprobs: true, top_logprobs: 2 });
    assert.equal(a.choices[0].logprobs.content.map((t) => t.token).join(""), a.choices[0].message.content);
  },

  async "raw completion"() {
    const a = await client.completions.create({ model, prompt: "What is", temperature: 0, max_tokens: 4 });
    assert.equal(a.choices[0].finish_reason, "length");
    let text = "";
    for await (const chunk of await client.completions.create({ model, prompt: "What is", temperature: 0, max_tokens: 4, stream: true })) {
      text += chunk.choices[0]?.text ?? "";
    }
    assert.equal(text, a.choices[0].text);
  },

  async models() {
    const ids = [];
    for await (const m of client.models.list()) ids.push(m.id);
    assert.deepEqual(ids, [model]);
    assert.equal((await client.models.retrieve(model)).id, model);
  },

  async errors() {
    await refuses(client.chat.completions.create({ ...ask("Hello"), n: 2 }), (e) => {
      assert(e instanceof OpenAI.BadRequestError);
      assert.equal(e.code, "unsupported_value");
      assert.equal(e.param, "n");
    });
    await refuses(client.chat.completions.create({ ...ask("Hello"), made_up: 1 }), (e) => assert.equal(e.code, "unknown_parameter"));
    await refuses(client.chat.completions.create({ ...ask("word ".repeat(5000)), stream: true }), (e) => assert.equal(e.code, "context_length_exceeded"));
    await refuses(client.chat.completions.create({ ...ask("Hello"), model: "other" }), (e) => assert(e instanceof OpenAI.NotFoundError));
  },

  async cancel() {
    const stream = await client.chat.completions.create({ ...ask("Count from 1 to 9."), logit_bias: endless, stream: true });
    let chunks = 0;
    for await (const _ of stream) {
      if (++chunks === 5) stream.controller.abort();
    }
    const a = await client.chat.completions.create(ask("Hello"), { timeout: 5000 });
    assert.equal(a.choices[0].message.content, "Hello! How can I help you?");
  },

  async image() {
    if (!image) return "skip";
    const content = [{ type: "image_url", image_url: { url: image } }, { type: "text", text: imageQuestion }];
    const a = await client.chat.completions.create(ask(content));
    assert.equal(a.choices[0].message.content, imageAnswer);
  },
});
