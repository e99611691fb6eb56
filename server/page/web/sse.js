// Server-sent events as OpenAI's API sends them.

// events yields the data of each event of a response's body. It returns at the end of the body: whether the stream
// was complete is for the caller to know.
export async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let data = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        const text = line.endsWith("\r") ? line.slice(0, -1) : line;
        if (text === "" && data.length > 0) {
          yield data.join("\n");
          data = [];
        } else if (text.startsWith("data:")) {
          data.push(text.slice(text[5] === " " ? 6 : 5));
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // the caller has gone, or the connection has
  }
}
