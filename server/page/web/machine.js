// What is known of the server: whether it answers, its model, and how the machine fares.

import { ApiError, health, key, model } from "./api.js";

const calm = 5000; // milliseconds between questions
const busy = 1000;
const remembered = 60; // samples

// A Machine asks /health again and again and sends "change". state is connecting, ready, loading, failed,
// shutting_down, unreachable or locked (the server wants a key).
export class Machine extends EventTarget {
  state = "connecting";
  health = null;
  model = null;
  metrics = null; // of /metrics, while watched
  history = []; // {rate, hits, read}: tokens a second, share of hits, bytes a second
  busy = false; // an answer is being made here
  rate = 0; // of that answer
  watched = false; // somebody looks at the figures

  start() {
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.refresh();
    });
    this.refresh();
  }

  // refresh asks now, and then on.
  async refresh() {
    clearTimeout(this.timer);
    const turn = (this.turn = {});
    await this.ask();
    if (turn !== this.turn) return; // asked again meanwhile
    this.dispatchEvent(new Event("change"));
    const hurry = this.busy || this.watched || this.state !== "ready";
    if (!document.hidden) this.timer = setTimeout(() => this.refresh(), hurry ? busy : calm);
  }

  async ask() {
    try {
      const report = await health();
      const before = this.health;
      this.health = report;
      const state = report.status === "ok" ? "ready" : report.status;
      if (state === "ready" && (this.state !== "ready" || this.model?.id !== report.model)) this.model = await model();
      this.state = state;
      if (this.watched && state === "ready") await this.measure();
      if (report.live) this.remember(report, before);
    } catch (error) {
      if (!(error instanceof ApiError)) console.error(error); // half an answer of a server that ends, or a mistake here
      this.state = error.status === 401 ? "locked" : "unreachable";
      if (this.state === "unreachable") this.health = null;
    }
  }

  remember(report, before) {
    const now = performance.now();
    const { live } = report;
    const past = before?.live ? before.live.expert_bytes_read : live.expert_bytes_read;
    const passed = (now - (this.askedAt ?? now)) / 1000;
    this.askedAt = now;
    const read = passed > 0 ? Math.max(0, live.expert_bytes_read - past) / passed : 0;
    this.history.push({ rate: this.busy ? this.rate : 0, read });
    this.history.splice(0, this.history.length - remembered);
  }

  // measure reads from /metrics what /health does not say.
  async measure() {
    const response = await fetch("/metrics", { headers: key() ? { Authorization: `Bearer ${key()}` } : {} }).catch(
      () => null,
    );
    if (!response?.ok) return;
    const now = parseMetrics(await response.text());
    const before = this.metrics?.counters;
    const since = (name) => (now.get(name) ?? 0) - (before?.get(name) ?? 0);
    const fetched = ["hit", "joined", "miss"].map((result) =>
      since(`fieldfare_expert_fetches_total{result="${result}"}`),
    );
    const all = fetched.reduce((sum, n) => sum + n, 0);
    const recent = all > 0 && before ? (fetched[0] + fetched[1]) / all : (this.metrics?.recent ?? null);
    const reads = now.get("fieldfare_expert_read_seconds_count") ?? 0;
    this.metrics = {
      counters: now,
      recent,
      readSeconds: reads > 0 ? now.get("fieldfare_expert_read_seconds_sum") / reads : 0,
      slowestRead: now.get("fieldfare_expert_read_slowest_seconds") ?? 0,
    };
  }

  // takesPictures says whether images can be sent; why not is in health.vision.
  get takesPictures() {
    return this.health?.vision?.state === "ready";
  }
}

// parseMetrics reads Prometheus's text format into a map from names, labels included, to numbers.
export function parseMetrics(text) {
  const values = new Map();
  for (const line of text.split("\n")) {
    const at = line.lastIndexOf(" ");
    if (at > 0 && line[0] !== "#") values.set(line.slice(0, at), Number(line.slice(at + 1)));
  }
  return values;
}
