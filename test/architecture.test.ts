import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

/** Architecture rules that a test can check: allowed imports, and the size of files and folders. */

const root = resolve(import.meta.dirname, '..');
const src = join(root, 'src');

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const full = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(full) : [full];
  });
}

const files = filesBelow(src)
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => ({ file, name: relative(src, file), text: readFileSync(file, 'utf8') }));

/** The part of the program that a file belongs to: its folder below src, or its own name at the top. */
const partOf = (name: string): string =>
  name.includes('/') ? name.slice(0, name.indexOf('/')) : name.replace(/\.ts$/, '');

/** Leaves that every part may import: each is one small subject and imports nothing. */
const common = [
  'errors',
  'time-limit',
  'version',
  'durations',
  'rounding',
  'json-values',
  'system-errors',
  'steady-clock',
  'sensitive-headers',
  'shortened',
  'nearest-name',
  'log-line',
  'unread-answers',
];
const mayImport: Record<string, readonly string[]> = {
  errors: [],
  'time-limit': [],
  version: [],
  durations: [],
  rounding: [],
  'json-values': [],
  'system-errors': [],
  'steady-clock': [],
  'sensitive-headers': [],
  shortened: [],
  'nearest-name': [],
  'log-line': [],
  'unread-answers': [],
  // The one table of special IP addresses, for every filter of targets on both sides.
  addresses: [],
  protocol: [],
  secrets: [],
  native: [],
  // The one interpreter of templates: of requests (executors) and of alerts (service), which may not import each other.
  templates: ['protocol'],
  targets: [],
  // Loaded by the files of customers, so it has nothing but Node.
  constructs: [],
  config: ['secrets', 'addresses'],
  log: ['secrets'],
  script: ['protocol', 'log', 'native', 'addresses'],
  executors: ['protocol', 'log', 'native', 'script', 'templates', 'addresses'],
  agent: ['protocol', 'log', 'addresses', 'config', 'secrets', 'native', 'executors', 'script'],
  // Only for the browser of agentic checks, whose processes are confined as those of scripts are; see below.
  service: ['protocol', 'log', 'addresses', 'config', 'secrets', 'script', 'templates'],
  commands: [
    'addresses',
    'protocol',
    'log',
    'config',
    'secrets',
    'native',
    'executors',
    'script',
    'agent',
    'service',
    'targets',
    'constructs',
  ],
  main: ['commands', 'config', 'log', 'secrets', 'native'],
};

/**
 * The folders of each part from the ground up. A file imports from its own folder and from folders below it; the last
 * folder, the part itself, is where the composition is.
 */
const floors: Record<string, readonly string[]> = {
  secrets: ['.', 'forms', 'matcher', 'tree', 'scrubber', 'files'],
  script: [
    'child',
    'child/api',
    'child/capture',
    'child/playwright',
    'child/suite',
    'interface',
    'process',
    'api',
    'playwright',
    'suite/place',
    'suite/install',
    'suite/bundle',
    'suite/browsers',
    'suite/report',
    'suite',
    '.',
  ],
  executors: [
    'interface',
    'assertions',
    'tcp',
    'dns',
    'resolve',
    'icmp',
    'http',
    'ssl',
    'grpc',
    'evidence',
    'traceroute',
    '.',
  ],
  agent: [
    'folders',
    'load',
    'metrics',
    'job-types',
    'scrubbing',
    'link',
    'artifacts',
    'outbox',
    'own-network',
    'probe/patterns',
    'probe/cel',
    'probe/settings',
    'probe',
    'run',
    'claiming',
    'keeping',
    '.',
  ],
  service: [
    // Foundations, which know no subject.
    'db',
    'engine',
    'artifacts',
    'http/fields',
    'http/document',
    'http/answers',
    'http',
    // Subjects. The folders of one subject are adjacent.
    'accounts/keys',
    'accounts/web-sessions',
    'accounts/variables',
    'accounts/snippets',
    'accounts/client-certificates',
    'accounts',
    'bundles',
    'status-pages',
    'alert-channels',
    'locations',
    'checks/types',
    'checks/schedule',
    'checks/fields',
    'checks/rules',
    'checks/storage',
    'checks',
    'result-files',
    'results',
    'maintenance',
    'scheduling',
    'keeping',
    'heartbeats',
    'error-groups',
    'analyses',
    'agentic',
    'agentic/child',
    'sessions',
    'triggers',
    'agents',
    'drafts',
    'alerting',
    'notifications',
    'incidents',
    'public-pages',
    'analytics',
    'badges',
    'overview',
    'timeline',
    'events',
    'projects',
    'projects/files',
    'pages',
    'pages/browser/base',
    'pages/browser/parts',
    'pages/browser/parts/code',
    'pages/browser/parts/form',
    'pages/browser/charts',
    'pages/browser/shell',
    'pages/browser/runs',
    'pages/browser/suites',
    'pages/browser/alerts',
    'pages/browser/checks',
    'pages/browser/edit/fields',
    'pages/browser/edit',
    'pages/browser/home',
    'pages/browser/groups',
    'pages/browser/incidents',
    'pages/browser/maintenance',
    'pages/browser/status-pages',
    'pages/browser/locations',
    'pages/browser/projects',
    'pages/browser/reports',
    'pages/browser/settings',
    'pages/browser/reference',
    'pages/browser',
    '.',
  ],
  commands: ['line', '.', 'doctor', 'run', 'project/code', 'project', 'dev'],
};

/**
 * Code for browsers, built by scripts/build-pages.mjs. It is checked with the types of browsers and shares only types with the
 * service, and no module of the service imports it.
 */
const isForBrowsers = (name: string) => name.startsWith('service/pages/browser/');

const importPattern = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

function importsOf(file: string, text: string): string[] {
  return [...text.matchAll(importPattern)].map((match) =>
    relative(src, resolve(dirname(file), match[1] ?? '')),
  );
}

/** Types are gone when the program runs. */
const withoutTypes = (text: string) => text.replaceAll(/^import type [^;]*;/gm, '');

/** What each file imports of ours, by names below src. */
const imports = new Map(files.map(({ file, name, text }) => [name, importsOf(file, text)]));

/** Cycles of a graph, each as the names on it. A name that imports itself counts as none. */
function cyclesOf(graph: ReadonlyMap<string, Iterable<string>>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): void => {
    const start = path.indexOf(node);
    if (start >= 0) {
      found.push([...path.slice(start), node].join(' → '));
      return;
    }
    if (done.has(node)) return;
    for (const next of graph.get(node) ?? []) visit(next, [...path, node]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return found;
}

describe('imports', () => {
  test('every part imports only the parts that it may', () => {
    const violations = files.flatMap(({ name }) => {
      const part = partOf(name);
      const allowed = mayImport[part];
      if (allowed === undefined) return [`${name}: its folder is not in the table of this test`];
      return (imports.get(name) ?? [])
        .filter((imported) => !imported.startsWith('..'))
        .map((imported) => ({ imported, target: partOf(imported) }))
        .filter(({ target }) => target !== part && !common.includes(target) && !allowed.includes(target))
        .map(({ imported }) => `${name} imports ${imported}`);
    });
    expect(violations).toEqual([]);
  });

  test.each(Object.entries(floors))('folders of %s import only folders below them', (part, order) => {
    const folderOf = (name: string) => relative(part, dirname(name)) || '.';
    const violations = files
      .filter(({ name }) => partOf(name) === part)
      .flatMap(({ name }) => {
        const own = order.indexOf(folderOf(name));
        if (own < 0) return [`${name}: its folder is not in the table of this test`];
        return (imports.get(name) ?? [])
          .filter((imported) => partOf(imported) === part)
          .filter((imported) => order.indexOf(folderOf(imported)) > own)
          .map((imported) => `${name} imports ${imported}`);
      });
    expect(violations).toEqual([]);
  });

  test('there is no cycle between files', () => {
    expect(cyclesOf(imports)).toEqual([]);
  });

  test('there is no cycle between folders', () => {
    // A file at the top, like errors.ts, is its own part; config.ts and config/ are one part.
    const folderOf = (name: string) => (name.includes('/') ? dirname(name) : partOf(name));
    const graph = new Map<string, Set<string>>();
    for (const [name, targets] of imports) {
      const from = folderOf(name);
      const to = graph.get(from) ?? new Set();
      for (const target of targets) if (folderOf(target) !== from) to.add(folderOf(target));
      graph.set(from, to);
    }
    expect(cyclesOf(graph)).toEqual([]);
  });

  test('relative imports name their file with its ending', () => {
    const violations = files.flatMap(({ name, text }) =>
      [...text.matchAll(importPattern)]
        .map((match) => match[1] ?? '')
        .filter((path) => !/\.(tsx?|json|css)$/.test(path))
        .map((path) => `${name} imports ${path}`),
    );
    expect(violations).toEqual([]);
  });

  test('the uptime executors reach no customer code', () => {
    const mayRunScripts = ['api.ts', 'api-scripts.ts', 'check-script.ts', 'playwright.ts'].map(
      (name) => `executors/${name}`,
    );
    const violations = files
      .filter(({ name }) => name.startsWith('executors/') && !mayRunScripts.includes(name))
      .flatMap(({ file, name, text }) =>
        importsOf(file, withoutTypes(text))
          .filter((imported) => partOf(imported) === 'script')
          .map((imported) => `${name} imports ${imported}`),
      );
    expect(violations).toEqual([]);
  });

  test('in the service, only the browser of agentic checks starts processes as scripts have them', () => {
    const violations = files
      .filter(({ name }) => name.startsWith('service/') && name !== 'service/agentic/browser.ts')
      .flatMap(({ name }) =>
        (imports.get(name) ?? [])
          .filter((imported) => partOf(imported) === 'script')
          .map((imported) => `${name} imports ${imported}`),
      );
    expect(violations).toEqual([]);
  });
});

/** The packages that the pages' code may import; all others are for Node, or too large. */
const packagesForBrowsers = /^(?:preact(?:\/|$)|uplot(?:\/|$)|@codemirror\/|@lezer\/)/;

test("the pages' code for browsers shares only types with the service", () => {
  const violations = files.flatMap(({ file, name, text }) => {
    const imported = imports.get(name) ?? [];
    if (!isForBrowsers(name))
      return imported.filter(isForBrowsers).map((other) => `${name} imports ${other}`);
    return [
      ...importsOf(file, withoutTypes(text)).filter((other) => !isForBrowsers(other)),
      ...imported.filter((other) => !isForBrowsers(other)),
      ...[...text.matchAll(/(?:^import\b[^;'(]*|^export [{*][^;'(=]*from |\bimport\()'([^.'\n][^'\n]*)'/gm)]
        .map(([, specifier]) => specifier ?? '')
        .filter((specifier) => !packagesForBrowsers.test(specifier)),
    ].map((other) => `${name} imports ${other}`);
  });
  expect(violations).toEqual([]);
});

test('only config.ts reads the environment', () => {
  const violations = files
    // A file of src/script/child is the entry of its own process, whose environment is the script's.
    .filter(
      ({ name, text }) =>
        name !== 'config.ts' && !name.startsWith('script/child/') && /\bprocess\.env\b/.test(text),
    )
    .map(({ name }) => name);
  expect(violations).toEqual([]);
});

describe('size', () => {
  /** Files of a folder of the repository, without what tests lay out as they need it. */
  const ownFiles = (folder: string) =>
    filesBelow(join(root, folder))
      .map((file) => relative(root, file))
      .filter((name) => !name.startsWith('test/fixtures/'));
  const all = [...ownFiles('src'), ...ownFiles('test')];

  test('a folder has at most 25 files', () => {
    const counts = new Map<string, number>();
    for (const name of all) counts.set(dirname(name), (counts.get(dirname(name)) ?? 0) + 1);
    // Migrations are numbered steps that run in order, so their folder grows with the schema and is not divided.
    counts.delete('src/service/db/migrations');
    const crowded = [...counts].filter(([, count]) => count > 25);
    expect(crowded.map(([folder, count]) => `${folder}: ${count} files`)).toEqual([]);
  });

  test('a file has at most 300 lines in src and 500 in test', () => {
    const long = all
      .filter((name) => /\.(tsx?|css|[ch])$/.test(name))
      .map((name) => ({ name, lines: readFileSync(join(root, name), 'utf8').split('\n').length - 1 }))
      .filter(({ name, lines }) => lines > (name.startsWith('src/') ? 300 : 500));
    expect(long.map(({ name, lines }) => `${name}: ${lines} lines`)).toEqual([]);
  });
});

test('src/README.md names every folder of src and of the agent, and every file at the top', () => {
  const map = readFileSync(join(src, 'README.md'), 'utf8');
  const parts = [src, join(src, 'agent')].flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() || (folder === src && entry.name.endsWith('.ts')))
      .map(({ name }) => name),
  );
  expect(parts.filter((name) => !new RegExp(`[\`/]${name}[\`/]`).test(map))).toEqual([]);
});

test('there are no barrels', () => {
  expect(files.filter(({ name }) => /(^|\/)index\.ts$/.test(name)).map(({ name }) => name)).toEqual([]);
});

test('every file in the list of long tests exists', () => {
  const names = JSON.parse(readFileSync(join(root, 'test', 'long-tests.json'), 'utf8')) as string[];
  expect(names.filter((name) => !existsSync(join(root, name)))).toEqual([]);
});
