/**
 * `node scripts/kernel-selftests.mjs [NAME …] [--source FOLDER] [--host]`: builds Linux' own tests of Landlock and seccomp and runs
 * them inside of a script's confinement. Without `--source` it fetches Debian's package of the kernel's source (150 MB)
 * with apt-get. Needs a compiler, make, rsync, flex, bison and libcap-dev. `--host` runs them without confinement, to compare.
 *
 * The tests make layers of their own inside of ours. Ours may refuse what a test needs, so tests may fail there. What must
 * not happen: a call that the test expects to be refused is allowed. Exit codes: 0 no such call, 1 at least one, 2 the
 * tests cannot be built.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(root, 'build', 'kernel-selftests');
const packageName = 'linux-source-6.12';
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { source: { type: 'string' }, host: { type: 'boolean', default: false } },
});
/** The parts of the source that the tests and the headers need. */
const parts = [
  'Makefile',
  'Kbuild',
  'Kconfig',
  'include',
  'arch',
  'scripts',
  'usr',
  'tools/testing/selftests',
];

function run(command, args, options = {}) {
  const done = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 28, ...options });
  if (done.error === undefined && done.status === 0) return done.stdout;
  process.stderr.write(`${command} ${args.join(' ')} failed: ${done.error?.message ?? done.stderr}\n`);
  process.exit(2);
}

/** The folder of the kernel's source. */
function source() {
  if (values.source !== undefined) return values.source;
  const folder = join(cache, packageName);
  if (existsSync(join(folder, 'Makefile'))) return folder;
  mkdirSync(cache, { recursive: true });
  run('apt-get', ['download', packageName], { cwd: cache });
  const archive = readdirSync(cache).find((name) => name.startsWith(`${packageName}_`));
  run('dpkg-deb', ['-x', archive, 'package'], { cwd: cache });
  const tar = join('package', 'usr', 'src', `${packageName}.tar.xz`);
  run('tar', ['-xJf', tar, ...parts.map((part) => `${packageName}/${part}`)], { cwd: cache });
  return folder;
}

/** Builds the tests into a folder; returns the names of the programs. */
function build(tree, folder) {
  const headers = join(cache, 'headers');
  run('make', ['-s', 'headers_install', `INSTALL_HDR_PATH=${headers}`], { cwd: tree });
  const names = [];
  for (const target of ['landlock', 'seccomp']) {
    const tests = join(tree, 'tools', 'testing', 'selftests', target);
    const options = [`KHDR_INCLUDES=-isystem ${headers}/include`, `top_srcdir=${tree}`];
    run('make', ['-s', '-C', tests, ...options]);
    for (const name of readdirSync(tests).filter((each) => /^(\w+_test|seccomp_bpf|true)$/.test(each))) {
      cpSync(join(tests, name), join(folder, name));
      if (name !== 'true') names.push(name);
    }
  }
  return names;
}

const work = mkdtempSync('/tmp/kernel-selftests-');
chmodSync(work, 0o755);
process.on('exit', () => rmSync(work, { recursive: true, force: true }));
const own = join(work, 'own');
const readable = join(work, 'readable');
mkdirSync(own);
mkdirSync(readable);
const built = build(source(), readable);
const programs = built.filter((name) => positionals.length === 0 || positionals.includes(name));
cpSync(join(root, 'test', 'fixtures', 'confinement', 'evaluate.mjs'), join(readable, 'evaluate.mjs'));
const key = join(work, 'key');
writeFileSync(key, '');

/** The output of each program, from a child of a real agent. */
function confined() {
  const bodies = programs.map(
    (name) => `
      const { spawnSync } = require('node:child_process');
      const done = spawnSync('${join(readable, name)}', [], { cwd: '${own}', encoding: 'utf8', timeout: 900_000, maxBuffer: 2 ** 26 });
      if (done.error) throw done.error;
      return done.stdout + done.stderr;`,
  );
  const agent = run(process.execPath, [join(root, 'test', 'fixtures', 'confinement', 'agent.mjs')], {
    input: JSON.stringify({
      dist: join(root, 'dist'),
      child: join(readable, 'evaluate.mjs'),
      own,
      keyFile: key,
      sockets: [],
      readable: [readable],
      mayStartPrograms: true,
      processes: 500,
      without: [],
      unconfined: false,
      bodies,
    }),
  });
  const { results, holds } = JSON.parse(agent);
  const layers = Object.keys(holds).filter((layer) => holds[layer]);
  process.stdout.write(`layers: ${layers.join(', ')}\n`);
  return results.map(({ value, error }) => value ?? `not ok: ${error}`);
}

const onHost = () =>
  programs.map((name) => {
    const { stdout, stderr } = spawnSync(join(readable, name), [], {
      cwd: own,
      encoding: 'utf8',
      timeout: 300_000,
    });
    return stdout + stderr;
  });

/** A line of the harness in which a refusal was expected and there was none: `Expected EACCES (13) == test_open(…) (0)`. */
const isBreach = (line) => /Expected (E[A-Z]+ \(\d+\)|-1 \(-1\)) == .* \(0\)$/.test(line);

let breaches = 0;
const outputs = values.host ? onHost() : confined();
for (const [index, output] of outputs.entries()) {
  const lines = output.split('\n');
  const count = (pattern) => lines.filter((line) => pattern.test(line)).length;
  const skipped = count(/^ok .*# SKIP/);
  const found = lines.filter(isBreach);
  breaches += found.length;
  process.stdout.write(
    `${programs[index]}: ${count(/^ok /) - skipped} passed, ${skipped} skipped, ` +
      `${count(/^not ok/)} kept from running, ${found.length} allowed although refused by the test\n`,
  );
  for (const line of [...found, ...lines.filter((each) => each.startsWith('not ok: '))])
    process.stdout.write(`  ${line}\n`);
}
process.exit(breaches === 0 ? 0 : 1);
