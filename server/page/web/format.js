// Numbers as people read them.

const counts = new Intl.NumberFormat("en");

export const count = (n) => counts.format(n);

export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

// bytes writes 3358720 as "3.4 MB"; units are powers of 1000, as disks and macOS have them.
export function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (n >= 999.5 && at < units.length - 1) {
    n /= 1000;
    at++;
  }
  return `${at > 0 && n < 9.95 ? n.toFixed(1) : n.toFixed(0)} ${units[at]}`;
}

export function seconds(s) {
  if (s < 0.95) return `${Math.max(1, Math.round(s * 100)) / 100} s`;
  if (s < 9.95) return `${s.toFixed(1)} s`;
  if (s < 90) return `${Math.round(s)} s`;
  return s < 5400 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`;
}

export const rate = (n) => (n < 99.5 ? n.toFixed(1) : count(Math.round(n)));

export const percent = (share) => `${Math.round(100 * share)} %`;

// day names the day of a time as seen from now: "Today", "Yesterday", "Last week", else month and year.
export function day(time, now = Date.now()) {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  if (time >= midnight) return "Today";
  if (time >= midnight - 864e5) return "Yesterday";
  if (time >= midnight - 7 * 864e5) return "Last 7 days";
  return new Intl.DateTimeFormat("en", { month: "long", year: "numeric" }).format(time);
}
