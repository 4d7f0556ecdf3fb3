// Runs before the first paint: tells the style sheets that scripts run and what the browser can do, and the server the
// reader's time zone.
(() => {
  const can = { js: true, dictates: "SpeechRecognition" in window || "webkitSpeechRecognition" in window,
    speaks: "speechSynthesis" in window && "SpeechSynthesisUtterance" in window };
  document.documentElement.classList.add(...Object.keys(can).filter((name) => can[name]));
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) document.cookie = `tz=${zone}; path=/; max-age=31536000; samesite=lax`;
})();
