/**
 * node make-keys.mjs FOLDER: creates the keys of a new system for docker/compose.yaml, once. They are in three folders below
 * FOLDER (`database`, `service`, `agent`), so that each container mounts only the keys that it needs.
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

/** Creates the file if it does not exist. Existing keys stay, because Docker restarts a container that failed half-way. */
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
  // Also for existing files, because an earlier start may have failed before this line.
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
