/**
 * node make-keys.mjs FOLDER: the keys of a new system for docker/compose.yaml, made once. Three folders below FOLDER, so that
 * each container mounts only what it needs: `database`, `service`, `agent`.
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

const [folder = '/keys'] = process.argv.slice(2);
const user = 10001;

/** What is there stays: a container that failed half-way is started again. */
function keep(name, make) {
  const file = join(folder, name);
  if (!existsSync(file)) {
    mkdirSync(dirname(file), { recursive: true });
    chmodSync(dirname(file), 0o755);
    const draft = `${file}.new`;
    rmSync(draft, { force: true });
    writeFileSync(draft, `${make()}\n`, { mode: 0o400 });
    renameSync(draft, file);
  }
  // Also after a start that ended before this.
  chownSync(file, user, user);
}

const random = () => randomBytes(24).toString('base64url');
keep('database/password', random);
keep('service/database-url', () => {
  const password = readFileSync(join(folder, 'database/password'), 'utf8').trim();
  return `postgres://monitoring:${password}@postgres:5432/monitoring`;
});
keep('service/encryption-key', random);
keep('service/api-key', () => `key_${random()}`);
keep('agent/location-key', () => `pl_${random()}`);
