import type { AddressInfo } from 'node:net';
import { createLog } from '../../src/log.ts';
import { Secret } from '../../src/secrets/secret.ts';
import { buildApp } from '../../src/service/app.ts';
import { openDatabase } from '../../src/service/db/open-database.ts';
import { createBackground } from '../../src/service/engine/background.ts';
import { createEncryption } from '../../src/service/engine/encryption.ts';

/** A service in a process of its own, so that its processor time can be told apart. Its argument is the database's URL. */
const [, , databaseUrl = ''] = process.argv;
const log = createLog({ level: 'WARN', scrub: (line) => line });
const db = await openDatabase({ databaseUrl: new Secret(databaseUrl), dataDir: '' });
const background = createBackground({ db, log });
const app = await buildApp(
  { db, encryption: createEncryption('bench'), now: () => Date.now(), background },
  {
    plugins: [
      (routes) => {
        routes.get('/bench/cpu', { schema: { hide: true } }, () => {
          const { user, system } = process.cpuUsage();
          return { ms: (user + system) / 1000 };
        });
      },
    ],
  },
);
await app.listen({ host: '127.0.0.1', port: 0 });
console.log(JSON.stringify({ port: (app.server.address() as AddressInfo).port })); // it listens on TCP
process.stdin.resume().once('end', () => process.exit(0));
