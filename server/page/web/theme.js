// Runs before the first paint, so that a chosen theme does not flash. Without a choice the system's holds.
try {
  const theme = localStorage.getItem("fieldfare.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // a browser that refuses storage
}
