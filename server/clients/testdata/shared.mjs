// What every client's script uses. A script fails by throwing.
import assert from "node:assert/strict";

export { assert };
export const baseURL = process.env.FIELDFARE_URL + "/v1";
export const model = "demo";
export const image = process.env.FIELDFARE_IMAGE; // a data URL; absent when the server takes no images
export const imageQuestion = process.env.FIELDFARE_IMAGE_QUESTION;
export const imageAnswer = process.env.FIELDFARE_IMAGE_ANSWER;

export const weather = {
  name: "get_weather",
  description: "Get the current weather for a city.",
  parameters: { type: "object", properties: { city: { type: "string", description: "City name" } } },
};

export const weatherResult = '{"temp_c": 21, "condition": "sunny"}';

// Without its end tokens the model goes on until the context is full.
export const endless = { 1: -100, 106: -100 };

export async function refuses(promise, check) {
  try {
    await promise;
  } catch (e) {
    check(e);
    return;
  }
  assert.fail("the request was answered");
}

export async function main(tests) {
  for (const [name, test] of Object.entries(tests)) {
    try {
      const skipped = await test();
      console.log(`${skipped === "skip" ? "skip" : "ok"} ${name}`);
    } catch (e) {
      console.log(`FAILED ${name}: ${e.stack}`);
      process.exitCode = 1;
    }
  }
}
