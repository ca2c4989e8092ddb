/** Checks the form of CHANGELOG.md. */

const kinds = ['CHANGE', 'FEATURE', 'ENHANCEMENT', 'BUGFIX'];
/** Headings of unreleased changes. */
const pendingNames = ['Pending', 'Unreleased'];

/**
 * Returns the entries, newest first: `{title, version, date, lines}`. Version and date are null for unreleased changes.
 * A heading is `## Pending`, or `## 1.2.3 (2026-01-31)`.
 */
export function readChangelog(text) {
  const entries = [];
  for (const line of text.split('\n')) {
    const heading = /^## (.*)$/.exec(line);
    if (heading !== null) {
      const found = /^(\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2})\)$/.exec(heading[1]);
      entries.push({ title: heading[1], version: found?.[1] ?? null, date: found?.[2] ?? null, lines: [] });
    } else if (line.startsWith('- ')) entries.at(-1)?.lines.push(line);
  }
  return entries;
}

const numbers = (version) => version.split('.').map(Number);
const isAfter = (a, b) => {
  const [x, y] = [numbers(a), numbers(b)];
  const index = x.findIndex((number, place) => number !== y[place]);
  return index >= 0 && x[index] > y[index];
};
const isDate = (text) => !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text);

/**
 * Returns the mistakes in the changelog of a package of this version, one sentence each. `release`: nothing may be pending. `today`
 * is an ISO date.
 */
export function changelogMistakes(text, { version, release = false, today }) {
  const mistakes = [];
  const entries = readChangelog(text);
  const [top] = entries;
  if (top === undefined) return ['there is no entry: add `## Pending`, or `## 1.2.3 (2026-01-31)`'];
  for (const [index, { title, version: of, date, lines }] of entries.entries()) {
    const pending = pendingNames.includes(title);
    if (of === null && !pending) {
      mistakes.push(`"## ${title}" is not a valid heading: use \`## Pending\`, or \`## 1.2.3 (2026-01-31)\``);
    }
    if (pending && index > 0) mistakes.push(`"## ${title}" must be the first entry`);
    if (lines.length === 0 && !pending) mistakes.push(`"## ${title}" has no lines`);
    for (const line of lines) {
      if (!kinds.some((kind) => line.startsWith(`- [${kind}] `))) {
        mistakes.push(
          `under "## ${title}": "${line.slice(0, 60)}" does not begin with [${kinds.join('], [')}]`,
        );
      }
    }
    if (date !== null && !isDate(date)) mistakes.push(`"## ${title}": ${date} is not a date`);
    else if (date !== null && date > today) mistakes.push(`"## ${title}": ${date} is in the future`);
  }
  const released = entries.filter((entry) => entry.version !== null);
  for (const [index, entry] of released.entries()) {
    const older = released[index + 1];
    if (older === undefined) continue;
    if (!isAfter(entry.version, older.version)) {
      mistakes.push(
        `${entry.version} is listed above ${older.version}: list the newest first, and each version once`,
      );
    }
    if (entry.date < older.date) mistakes.push(`${entry.version} is dated before ${older.version}`);
  }
  const latest = released[0]?.version;
  if (top.version !== null && top.version !== version) {
    mistakes.push(`the top entry is ${top.version}, but package.json has ${version}`);
  }
  if (top.version === null && latest !== undefined && isAfter(latest, version)) {
    mistakes.push(`${latest} is listed, but package.json has ${version}`);
  }
  if (release && top.version === null) {
    mistakes.push(`"## ${top.title}" must become "## ${version} (${today})" before ${version} is released`);
  }
  return mistakes;
}
