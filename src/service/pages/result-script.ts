import { suiteScript } from './suite-script.ts';

/**
 * The part of the page's script that shows one result whole: tests with their steps, pages, calls, log, files. Everything in
 * it came from a customer's script, so nothing is taken for granted, all of it is text, and each list has a bound.
 */
export const resultScript = String.raw`
const list = (value) => (Array.isArray(value) ? value : []);
const object = (value) => (typeof value === 'object' && value !== null ? value : {});
const text = (value, most = 2000) => {
  // Not String(): an object from outside may have a toString that is no function.
  const whole = typeof value === 'string' ? value : (JSON.stringify(value ?? '') ?? '').replace(/^""$/, '');
  return whole.length > most ? whole.slice(0, most) + ' …' : whole;
};
// Terminals' colours.
const plain = (value) => text(value).replace(/\u001b\[[0-9;]*m/g, '');

function bytes(value) {
  if (typeof value !== 'number') return '';
  if (value < 10_000) return value + ' B';
  return value < 10_000_000 ? Math.round(value / 1000) + ' kB' : Math.round(value / 1e6) + ' MB';
}

// The way and the packets of an attempt that the network failed.
function networkText(details) {
  const trace = object(details.traceroute);
  const packets = object(details.packetCapture);
  const time = (value) => (typeof value === 'number' ? value.toFixed(1) : '-').padStart(9);
  const hops = list(trace.hops).slice(0, 30).map(object).map((hop) =>
    text(hop.hop, 3).padStart(3) + '  ' + text(hop.address ?? '*', 50).padEnd(24) + (text(hop.lossPercent, 5) + '%').padStart(6) +
      [hop.lastMs, hop.avgMs, hop.bestMs, hop.worstMs, hop.stddevMs].map(time).join('') +
      [hop.name, hop.error].filter(Boolean).map((word) => '  ' + text(word, 100)).join(''));
  return [
    ...(hops.length === 0 ? [] : [
      'Way to ' + text(trace.address, 50) + ' port ' + text(trace.port, 5) + ' by ' + text(trace.way, 10).toUpperCase() +
        (trace.reached === true ? '' : ': not reached'),
      'hop  ' + 'address'.padEnd(24) + '  loss' + ['last', 'avg', 'best', 'worst', 'stddev'].map((word) => word.padStart(9)).join(''),
      ...hops]),
    ...(trace.unavailable ? ['No traceroute: ' + text(trace.unavailable, 300)] : []),
    ...(packets.summary ? ['Packets: ' + text(packets.summary, 300)] : []),
    ...(packets.unavailable ? ['No packets: ' + text(packets.unavailable, 300)] : []),
  ].join('\n');
}

/** 'tools' are the page's own: element, milliseconds, download. */
export function resultDetail(tools, result) {
  const { element, milliseconds, download } = tools;
  const details = object(result.details);
  const line = (status, title, time, ...more) =>
    element('div', { class: 'line' },
      status ? element('span', { class: 'status ' + status }, '') : null,
      element('span', {}, title), element('span', { class: 'num soft' }, time), ...more);
  const error = (message) => element('pre', { class: 'reason' }, plain(message));
  const section = (title, nodes) =>
    nodes.length === 0 ? null : element('div', { class: 'part' }, element('h3', {}, title), ...nodes);

  let left = 500;
  function steps(items, depth) {
    return list(items).flatMap((item) => {
      const step = object(item);
      if (left === 0) return [];
      left -= 1;
      const own = element('li', {}, line(step.error ? 'failed' : '', text(step.title, 300), milliseconds(step.durationMs)),
        step.error ? error(step.error) : null);
      const inner = depth < 6 ? steps(step.steps, depth + 1) : [];
      if (inner.length > 0) own.append(element('ul', {}, ...inner));
      return [own];
    });
  }
  const statusOf = (test) =>
    test.degraded === true ? 'degraded' : test.status === 'passed' ? 'passed' : test.status === 'skipped' ? 'idle' : 'failed';
  const isSuite = details.totals !== undefined;
  const ordered = list(details.tests).slice(0, isSuite ? 1000 : 100).map(object);
  if (isSuite) ordered.sort((a, b) => suiteTestRank(a) - suiteTestRank(b));
  const tests = ordered.map((test) => {
    const inner = steps(test.steps, 0);
    const status = isSuite ? suiteTestStatus(test) : statusOf(test);
    const title = isSuite ? suiteTestTitle(test) : text(test.title, 300);
    const own = list(test.attachments).slice(0, 20).map((each) => object(each).artifact).filter((name) => typeof name === 'string');
    const attached = list(result.artifacts).map(object).filter(({ name }) => own.includes(name)).map(file);
    return element('div', {}, line(status, title, milliseconds(test.durationMs), element('span', { class: 'soft' }, isSuite ? suiteTestState(test) : text(test.status, 40))),
      ...list(test.errors).slice(0, 20).map(error),
      inner.length === 0 ? null : element('details', status === 'failed' || status === 'degraded' ? { attributes: { open: '' } } : {}, element('summary', {}, 'Steps'), element('ul', {}, ...inner)),
      attached.length === 0 ? null : element('ul', {}, ...attached));
  });
  const leftOut = count(details.testsLeftOut);
  if (leftOut > 0) tests.push(line('idle', leftOut + ' more tests are in the JSON report alone', ''));
  const vital = ([name, value]) => {
    const { score, value: measured } = object(value);
    const shown = name === 'CLS' && typeof measured === 'number' ? measured.toFixed(3) : milliseconds(measured);
    return element('span', { class: 'chip', title: text(score, 40) }, name + ' ' + shown);
  };
  const pages = list(details.pages).slice(0, 100).map(object).map((page) =>
    element('div', {}, line('', text(page.url, 300), milliseconds(object(page.pageTimings).onLoad)),
      element('div', {}, ...Object.entries(object(page.webVitals)).slice(0, 10).map(vital)),
      ...[...list(page.consoleErrors), ...list(page.networkErrors)].slice(0, 20).map(error)));
  const calls = list(details.apiCalls).slice(0, 200).map(object).map((call) => {
    const { method, url } = object(call.request);
    const answer = call.response ? text(object(call.response).status, 40) : 'no answer';
    const held = list(call.assertions).slice(0, 50).map(object);
    return element('div', {}, line(call.error || held.some((each) => each.passed === false) ? 'failed' : 'passed',
      text(method, 20) + ' ' + text(url, 300), milliseconds(call.durationMs), element('span', { class: 'soft' }, answer)),
      call.error ? error(call.error) : null,
      ...held.map((each) => line(each.passed === false ? 'failed' : 'passed', text(each.title, 300), '')));
  });
  const assertions = list(result.assertions).slice(0, 200).map(object).map((each) =>
    element('div', {}, line(each.error ? 'failed' : 'passed', text([each.source, each.property, each.comparison, each.target].filter(Boolean).map((part) => text(part)).join(' '), 300), ''),
      each.error ? error(each.error) : null));
  const errors = !isSuite && list(details.tests).length > 0 ? [] : list(details.errors).slice(0, 20).map(error);
  const network = networkText(details);
  const log = list(result.log).slice(0, 500).map(object).map((entry) => text(entry.msg)).join('\n');
  function file(artifact) {
    if (artifact.state !== 'stored' || !artifact.url) {
      return line('', text(artifact.name, 200), bytes(artifact.size), element('span', { class: 'soft' }, text(artifact.state, 40)));
    }
    const button = element('button', { class: 'name', attributes: { type: 'button' } }, text(artifact.name, 200));
    button.addEventListener('click', () => void download(artifact.url, artifact.name));
    return line('', button, bytes(artifact.size), element('span', { class: 'soft' }, text(artifact.type, 40)));
  }
  const files = list(result.artifacts).slice(0, 200).map(object).map(file);
  const parts = [
    isSuite ? section('Suite', suiteHead(tools, details)) : null,
    section('Errors', errors),
    section('Tests', tests),
    section('API calls', calls),
    section('Pages', pages),
    section('Assertions', assertions),
    section('Network', network === '' ? [] : [element('pre', {}, network)]),
    section('Files', files),
    section('Log', log === '' ? [] : [element('pre', {}, log)]),
  ].filter((part) => part !== null);
  return parts.length > 0 ? parts : [element('p', { class: 'empty' }, 'The run left nothing else.')];
}
${suiteScript}`;
