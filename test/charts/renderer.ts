import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';

/**
 * The chart as manifests. Helm itself is not needed: render/main.go puts together what Helm is made of, and is built here
 * once for each version of its text (some seconds of processor time).
 */

const root = resolve(import.meta.dirname, '..', '..');
export const chartFolder = join(root, 'charts', 'agent');
export const serviceChartFolder = join(root, 'charts', 'service');
const source = join(import.meta.dirname, 'render', 'main.go');
const libraries = '/usr/share/gocode';

/** Whether a program is there and ends well. */
export const works = (command: string, ...args: string[]) =>
  spawnSync(command, args, { encoding: 'utf8' }).status === 0;

/** Prints one line with the reason if something is missing and tests are skipped. */
export function can(available: boolean, lack: string): boolean {
  if (!available) process.stderr.write(`skipped here: ${lack}\n`);
  return available;
}

/** Go and the libraries of Helm, as Debian 12 has them; in other places they may lie elsewhere. */
export const canRender = can(
  [
    'github.com/Masterminds/semver/version.go',
    'github.com/Masterminds/sprig/functions.go',
    'github.com/xeipuuv/gojsonschema/validation.go',
    'sigs.k8s.io/yaml/yaml.go',
  ].every((name) => existsSync(join(libraries, 'src', name))) && works('go', 'version'),
  'rendering of the Helm chart, which needs Go and the libraries sprig, yaml and gojsonschema',
);

export type Values = { readonly [name: string]: unknown };
export type Release = {
  name?: string;
  namespace?: string;
  /** As in a values file. */
  values: Values;
};
/** A manifest, parsed. */
export type Manifest = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: { [name: string]: string } };
  [field: string]: unknown;
};
/** What an install would send and print, or the error that it would end with. */
export type Rendered = { manifests: Manifest[]; notes: string; text: string } | { error: string };

const folder = join(root, 'build', 'charts');
const program = join(
  folder,
  `render-${createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 16)}`,
);
const { withLock } = (await import('../../scripts/lock.mjs' as string)) as {
  withLock: (folder: string, work: () => void) => Promise<void>;
};

/** Builds the renderer where there is none of this version, which takes a busy machine a minute; one test file at a time. */
export async function buildRenderer(): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await withLock(join(folder, '.lock'), () => {
    if (existsSync(program)) return;
    const cache = join(folder, 'go-cache');
    // Unoptimised: gccgo then takes a third of the time. Go's own compiler passes over its flags.
    const { status, stderr } = spawnSync(
      'go',
      ['build', '-gccgoflags=all=-O0 -g0', '-o', `${program}.new`, source],
      {
        env: { ...process.env, GO111MODULE: 'off', GOPATH: libraries, GOFLAGS: '', GOCACHE: cache },
        encoding: 'utf8',
      },
    );
    rmSync(cache, { recursive: true, force: true });
    if (status !== 0) throw new Error(`go build: ${stderr}`);
    renameSync(`${program}.new`, program);
  });
}

/** Renders a chart once for each release, all in one process. The renderer must have been built. */
export function renderChart(releases: readonly Release[], chart = chartFolder): Rendered[] {
  const cases = releases.map(({ name = 'berlin', namespace = 'monitoring', values }) => ({
    release: name,
    namespace,
    values,
  }));
  const { status, stdout, stderr } = spawnSync(program, {
    input: JSON.stringify({ chart, cases }),
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`render: ${stderr}`);
  // The answer of our own program.
  const answers = JSON.parse(stdout) as { files: { [path: string]: string } | null; error: string }[];
  return answers.map(({ files, error }) => {
    if (files === null) return { error };
    const { 'templates/NOTES.txt': notes = '', ...others } = files;
    const text = Object.values(others).join('\n---\n');
    return { manifests: parseManifests(text), notes, text };
  });
}

export type Success = Exclude<Rendered, { error: string }>;

/** Releases that must all render, by name. */
export function renderAll<Name extends string>(
  releases: { readonly [N in Name]: Release },
  chart = chartFolder,
): { [N in Name]: Success } {
  const names = Object.keys(releases) as Name[];
  const answers = renderChart(
    names.map((name) => releases[name]),
    chart,
  );
  const found = names.map((name, index): [Name, Success] => {
    const answer = answers[index];
    if (answer === undefined || 'error' in answer) throw new Error(`${name}: ${answer?.error}`);
    return [name, answer];
  });
  return Object.fromEntries(found) as { [N in Name]: Success }; // one entry for each name
}

/** The documents of a YAML text; throws for one that is none, or that has a key twice. */
export function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw new Error(`${document.errors[0]?.message}\nin: ${text}`);
    const value: unknown = document.toJS();
    return value === null ? [] : [value as Manifest]; // judged by whoever asks
  });
}
