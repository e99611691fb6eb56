import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { assert, baseURL, endless, image, imageAnswer, imageQuestion, main, model as id, refuses } from "./shared.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const provider = createOpenAICompatible({ name: "fieldfare", baseURL, includeUsage: true });
const model = provider(id);
const common = { model, temperature: 0, maxRetries: 0 };
const getWeather = tool({
  description: "Get the current weather for a city.",
  inputSchema: z.object({ city: z.string().describe("City name") }),
  execute: async () => ({ temp_c: 21, condition: "sunny" }),
});

await main({
  async answer() {
    const a = await generateText({ ...common, prompt: "What is the capital of Peru?" });
    assert.equal(a.text, "The capital of Peru is Lima.");
    assert.equal(a.finishReason, "stop");
    assert.equal(a.usage.totalTokens, 27);
  },

  async stream() {
    const a = streamText({ ...common, prompt: "What is the capital of Peru?" });
    let text = "";
    for await (const part of a.textStream) text += part;
    assert.equal(text, "The capital of Peru is Lima.");
    assert.equal((await a.usage).outputTokens, 7);
  },

  async reasoning() {
    const a = await generateText({ ...common, prompt: "What is 17 + 25?", providerOptions: { fieldfare: { reasoningEffort: "low" } } });
    assert(a.reasoningText.length > 0);
    assert(!a.text.includes(a.reasoningText));
  },

  async "tool loop"() {
    const a = await generateText({ ...common, prompt: "What is the weather in Lisbon?", tools: { get_weather: getWeather }, stopWhen: stepCountIs(3) });
    assert.equal(a.steps.length, 2);
    assert.deepEqual(a.steps[0].toolCalls[0].input, { city: "Lisbon" });
    assert(a.text.includes("Lisbon"), a.text);
  },

  async "tool loop, streamed"() {
    const a = streamText({ ...common, prompt: "What is the weather in Lisbon?", tools: { get_weather: getWeather }, stopWhen: stepCountIs(3) });
    let calls = 0;
    for await (const part of a.fullStream) {
      if (part.type === "error") throw part.error;
      if (part.type === "tool-call") calls++;
    }
    assert.equal(calls, 1);
    assert((await a.text).includes("Lisbon"));
  },

  async errors() {
    await refuses(generateText({ ...common, prompt: "word ".repeat(5000) }), (e) => {
      assert(APICallError.isInstance(e));
      assert.equal(e.statusCode, 400);
      assert.match(e.message, /maximum context length is 4096/);
    });
  },

  async cancel() {
    const controller = new AbortController();
    const a = streamText({
      ...common, prompt: "Count from 1 to 9.", abortSignal: controller.signal, onError() {},
      providerOptions: { fieldfare: { logit_bias: endless } },
    });
    let parts = 0;
    for await (const part of a.fullStream) {
      if (part.type === "text-delta" && ++parts === 5) controller.abort();
    }
    assert(parts >= 5);
    const b = await generateText({ ...common, prompt: "Hello", abortSignal: AbortSignal.timeout(5000) });
    assert.equal(b.text, "Hello! How can I help you?");
  },

  async image() {
    if (!image) return "skip";
    const a = await generateText({
      ...common, messages: [{ role: "user", content: [{ type: "image", image }, { type: "text", text: imageQuestion }] }],
    });
    assert.equal(a.text, imageAnswer);
  },
});
