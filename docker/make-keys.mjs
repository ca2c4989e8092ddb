/**
 * node make-keys.mjs FOLDER: the keys of a new system for docker/compose.yaml, made once. Three folders below FOLDER, so that
 * each container mounts only what it needs: `database`, `service`, `agent`.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const [folder = '/keys'] = process.argv.slice(2);
const user = 10001;

/** Written whole or not at all is no matter: a container that fails here is started again, and finds what is there. */
function keep(name, make) {
  const file = join(folder, name);
  if (existsSync(file)) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${make()}\n`, { mode: 0o400 });
  chmodSync(file, 0o400);
  chownSync(file, user, user);
}

const random = () => randomBytes(24).toString('base64url');
const password = random();
keep('service/database-url', () => `postgres://monitoring:${password}@postgres:5432/monitoring`);
keep('database/password', () => password);
keep('service/encryption-key', random);
keep('service/api-key', () => `key_${random()}`);
keep('agent/location-key', () => `pl_${random()}`);
for (const name of ['service', 'agent', 'database']) chmodSync(join(folder, name), 0o755);
