/**
 * The script that runs inside pages. It collects the page's own measurements and sends them through a binding when they
 * change, and again on request. It is a string because the page's types differ from this program's.
 */

/** Name of the binding. As a symbol's key, it is also where the page keeps its last answer. */
export const vitalsName = '__locationAgentVitals';

/** Evaluates to the JSON of the measurements, or null. */
export const vitalsExpression = `globalThis[Symbol.for('${vitalsName}')]?.() ?? null`;

export const vitalsScript = `(() => {
  if (window !== window.top || location.href.startsWith('about:')) return;
  const id = Math.random().toString(36).slice(2);
  const vitals = {};
  const observers = [];
  let session = 0, sessionStart = 0, sessionEnd = 0, timer = 0;
  const watch = (type, take) => {
    try {
      const each = (list) => { for (const entry of list.getEntries()) take(entry); };
      const observer = new PerformanceObserver((list) => { each(list); soon(); });
      observer.observe({ type, buffered: true });
      observers.push(() => each({ getEntries: () => observer.takeRecords() }));
    } catch {}
  };
  const long = [];
  watch('paint', (entry) => { if (entry.name === 'first-contentful-paint') vitals.FCP = entry.startTime; });
  watch('largest-contentful-paint', (entry) => { vitals.LCP = entry.startTime; });
  watch('layout-shift', (entry) => {
    if (entry.hadRecentInput) return;
    // The worst burst: shifts less than 1 s apart, at most 5 s in all.
    const joins = entry.startTime - sessionEnd < 1000 && entry.startTime - sessionStart < 5000;
    if (!joins || session === 0) { session = 0; sessionStart = entry.startTime; }
    session += entry.value;
    sessionEnd = entry.startTime;
    vitals.CLS = Math.max(vitals.CLS ?? 0, session);
  });
  watch('longtask', (entry) => { if (long.length < 10000) long.push(entry); });
  const snapshot = () => {
    for (const take of observers) take();
    const [navigation] = performance.getEntriesByType('navigation');
    let encoded = 0, decoded = 0;
    for (const entry of [navigation, ...performance.getEntriesByType('resource')]) {
      encoded += entry?.encodedBodySize ?? 0;
      decoded += entry?.decodedBodySize ?? 0;
    }
    if (navigation?.responseStart > 0) vitals.TTFB = navigation.responseStart;
    if (vitals.FCP !== undefined) {
      vitals.CLS ??= 0;
      vitals.TBT = 0;
      for (const entry of long) if (entry.startTime >= vitals.FCP) vitals.TBT += Math.max(0, entry.duration - 50);
    }
    return JSON.stringify({
      id, vitals, encoded, decoded,
      onContentLoad: navigation?.domContentLoadedEventEnd || null,
      onLoad: navigation?.loadEventEnd || null,
    });
  };
  const send = () => {
    timer = 0;
    try { void window['${vitalsName}']?.(snapshot()); } catch {}
  };
  const soon = () => { timer ||= setTimeout(send, 50); };
  Object.defineProperty(globalThis, Symbol.for('${vitalsName}'), { value: snapshot });
  addEventListener('load', () => setTimeout(send, 0));
  addEventListener('pagehide', send);
})()`;
