import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { defaultRuntime } from './runtime.mjs';

const onPath = (name) =>
  (process.env.PATH ?? '').split(':').some((folder) => folder !== '' && existsSync(`${folder}/${name}`)) ||
  existsSync(`/usr/sbin/${name}`) ||
  existsSync(`/sbin/${name}`);

/** Debian packages Go libraries as folders of sources. */
const hasGoLibrary = (name) => existsSync(`/usr/share/gocode/src/${name}`);

function hasPostgres() {
  return (
    existsSync('/usr/lib/postgresql') &&
    readdirSync('/usr/lib/postgresql').some((version) => Number(version) >= 15)
  );
}

/** System packages for the product (start) and its tests. If one cannot be installed, one line says so. */
const wanted = [
  {
    modes: ['start', 'test'],
    has: () => ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'].some(onPath),
    packages: ['chromium'],
    purpose: 'a Chromium for browser checks',
  },
  {
    modes: ['start', 'test'],
    has: () => onPath('ffmpeg'),
    packages: ['ffmpeg'],
    purpose: 'videos of browser checks',
  },
  {
    modes: ['test'],
    has: () => onPath('bwrap'),
    packages: ['bubblewrap'],
    purpose: 'a sandbox for scripts in the tests',
  },
  {
    modes: ['test'],
    has: hasPostgres,
    packages: ['postgresql'],
    purpose: 'PostgreSQL 15 for the storage tests',
  },
  {
    modes: ['test'],
    has: () => onPath('iptables'),
    packages: ['iptables'],
    purpose: 'networks that drop packets for the tests',
  },
  {
    modes: ['test'],
    has: () => onPath('jq'),
    packages: ['jq'],
    purpose: 'commands of the documents',
  },
  {
    modes: ['test'],
    has: () => onPath('openssl'),
    packages: ['openssl'],
    purpose: 'certificates for the tests',
  },
  {
    modes: ['test'],
    has: () => onPath('ip') && onPath('tc'),
    packages: ['iproute2'],
    purpose: 'network namespaces for the tests',
  },
  {
    modes: ['test'],
    has: () => ['squid', 'tinyproxy', 'danted', 'haproxy'].every(onPath),
    packages: ['squid', 'tinyproxy-bin', 'dante-server', 'haproxy'],
    purpose: 'proxies for the tests',
  },
  {
    modes: ['test'],
    has: () => ['slowhttptest', 'zzuf', 'stress-ng'].every(onPath),
    packages: ['slowhttptest', 'zzuf', 'stress-ng'],
    purpose: 'tools that strain the programs in the tests',
  },
  {
    modes: ['test'],
    has: () => onPath('systemd-analyze'),
    packages: ['systemd'],
    purpose: 'the analysis of the systemd units in the tests',
  },
  {
    modes: ['test'],
    has: () => onPath('setpriv'),
    packages: ['util-linux'],
    purpose: 'unprivileged children for the tests',
  },
  {
    modes: ['test'],
    has: () => onPath('promtool'),
    packages: ['prometheus'],
    purpose: 'promtool for the tests of the metrics',
  },
  {
    modes: ['test'],
    has: () => onPath('prometheus') && onPath('prometheus-blackbox-exporter'),
    packages: ['prometheus', 'prometheus-blackbox-exporter'],
    purpose: 'Prometheus and its exporter for the tests of /probe',
  },
  {
    modes: ['test'],
    has: () => ['mandoc', 'zsh', 'fish'].every(onPath),
    packages: ['mandoc', 'zsh', 'fish'],
    purpose: 'shells and mandoc for the tests of completions and the man page',
  },
  {
    modes: ['test'],
    has: () =>
      onPath('go') &&
      [
        'github.com/Masterminds/sprig',
        'github.com/xeipuuv/gojsonschema',
        'sigs.k8s.io/yaml',
        'google.golang.org/grpc',
      ].every(hasGoLibrary),
    // The smaller of Debian's two Go compilers: 290 MB, half of the other.
    packages: [
      'gccgo-go',
      'golang-github-masterminds-sprig-dev',
      'golang-github-xeipuuv-gojsonschema-dev',
      'golang-k8s-sigs-yaml-dev',
      'golang-google-grpc-dev',
    ],
    purpose: "Go with Helm's libraries for the chart tests, and with gRPC for its checks' tests",
  },
];

/** Installs missing packages if this is Debian and the user is root. Otherwise it reports them with the remedy. */
export async function installSystemPackages(mode, say) {
  const missing = wanted.filter((item) => item.modes.includes(mode) && !item.has());
  if (missing.length === 0) return;
  const packages = missing.flatMap((item) => item.packages);
  const purposes = missing.map((item) => item.purpose).join(', ');
  const remedy = `apt-get install ${packages.join(' ')}`;
  if (!existsSync('/usr/bin/apt-get'))
    return say(
      `not installed: ${purposes}; install ${packages.join(', ')} with this system's package manager`,
    );
  if (process.getuid?.() !== 0) return say(`not installed: ${purposes}; run as root: ${remedy}`);
  if (packages.includes('postgresql') && !existsSync('/etc/postgresql-common/createcluster.conf')) {
    // The tests start their own servers, so Debian must not create a cluster.
    mkdirSync('/etc/postgresql-common', { recursive: true });
    writeFileSync('/etc/postgresql-common/createcluster.conf', 'create_main_cluster = false\n');
  }
  say(`installing ${packages.join(', ')} (${purposes})`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args) =>
    new Promise((resolve) => {
      const options = { env, maxBuffer: 64 * 1024 * 1024 };
      execFile('apt-get', ['-q', '-y', ...args], options, (error, stdout, stderr) =>
        resolve({ ok: error === null, output: stdout + stderr }),
      );
    });
  const install = () =>
    apt('install', '--no-install-recommends', '-o', 'Dpkg::Options::=--force-confold', ...packages);
  await apt('update');
  // The tests start what they need themselves: no proxy or server of this machine begins to listen (policy-rc.d, exit 101).
  const policy = '/usr/sbin/policy-rc.d';
  const isOurs = !existsSync(policy);
  const remove = () => rmSync(policy, { force: true });
  // Also when the set-up is interrupted.
  if (isOurs) process.once('exit', remove);
  if (isOurs) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  let done;
  try {
    done = await install();
    // The mirror may have been updating during the first try.
    if (!done.ok) done = await install();
  } finally {
    if (isOurs) remove();
  }
  if (!done.ok) {
    const lines = done.output.trim().split('\n');
    say(`not installed: ${purposes}; ${remedy} failed: ${lines.at(-1)}`);
  }
}

/** What is missing although the set-up of `npm test` installs it on Debian as root: packages, the addon, the runtime, the engines. */
export function missingForTests() {
  const missing = wanted
    .filter((item) => item.modes.includes('test') && !item.has())
    .map((item) => item.purpose);
  const addon = new URL('../build/native/location_agent.node', import.meta.url);
  if (!existsSync(addon)) missing.push('the native addon');
  const runtime = new URL(`../runtimes/${defaultRuntime}/node_modules/.runtime-stamp`, import.meta.url);
  if (!existsSync(runtime)) missing.push(`the runtime ${defaultRuntime}`);
  const engines = new URL('../engines/node_modules/.engines-stamp', import.meta.url);
  if (!existsSync(engines)) missing.push('the suite engines (node scripts/engines.mjs install)');
  try {
    createRequire(import.meta.url)('raw-socket');
  } catch (error) {
    missing.push(`raw-socket (${error.message.split('\n', 1)[0]})`);
  }
  return missing;
}
