import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { builtProgram } from '../helpers/build.ts';
import { servicePlace } from '../helpers/service/database.ts';
import { noteNoDownloads } from '../helpers/suites/noted-downloads.ts';
import { noDownloads, registryVariables } from '../helpers/suites/suite-registry.ts';
import { apiOf, killAll, readyLine, startProgram, until, type Api, type Program } from './program.ts';

/** A service and an agent as programs that say all they can, and all that anybody gets to see of them. */

type Keys = { apiKey: string; locationKey: string; locationSlug: string };
type Stored = { id: string; artifacts?: { name: string; state: string; size: number; url?: string }[] };
export type SeenFile = { name: string; size: number; bytes: Buffer };

export type WholeWay = {
  /** Of this test, and gone with it; the agent's data are in `agent`. */
  folder: string;
  base: string;
  keys: Keys;
  api: Api;
  service: Program;
  agent: Program;
  /** What was seen until now. */
  seen: { name: string; bytes: Buffer }[];
  download: (name: string, from: string) => Promise<Buffer>;
  /** The newest result of a check, or one of its results, once all its files have come or are refused; with what they are. */
  finalResult: <R extends Stored>(
    checkId: string,
    resultId?: string,
  ) => Promise<{ result: R; output: string; files: SeenFile[] }>;
  close: () => Promise<void>;
};

/** `authority`: an additional certificate authority (PEM) for installers. */
export async function startWholeWay(options: {
  authority: string;
  agentEnv: { [name: string]: string };
}): Promise<WholeWay> {
  const main = await builtProgram();
  const folder = mkdtempSync(join(tmpdir(), 'whole-way-'));
  const place = await servicePlace();
  const service = startProgram(main, ['service'], {
    SERVICE_PORT: '0',
    // Tests ask again and again.
    SERVICE_RATE_LIMIT: '0',
    ...place.env,
    LOG_LEVEL: 'DEBUG',
  });
  const ready = await readyLine(service);
  const keys = JSON.parse(readFileSync(ready.keysFile ?? '', 'utf8')) as Keys; // the service has just written it
  const base = ready.serviceUrl;
  const api = apiOf(base, keys.apiKey);
  const { npm_config_cafile, NODE_EXTRA_CA_CERTS, ...variables } = registryVariables();
  const known = [npm_config_cafile, NODE_EXTRA_CA_CERTS].flatMap((file) =>
    file === undefined || !existsSync(file) ? [] : readFileSync(file, 'utf8'),
  );
  const authorities = join(folder, 'authorities.pem');
  writeFileSync(authorities, [...known, options.authority].join('\n'));
  await noteNoDownloads(join(folder, 'agent'));
  const agent = startProgram(main, ['start'], {
    SERVICE_URL: base,
    API_KEY: keys.locationKey,
    AGENT_HEALTH_PORT: '0',
    AGENT_DATA_DIR: join(folder, 'agent'),
    LOG_LEVEL: 'DEBUG',
    SCRIPT_ALLOWED_NETWORKS: '0.0.0.0/0,::/0,127.0.0.0/8,::1',
    ...variables,
    NODE_EXTRA_CA_CERTS: authorities,
    ...noDownloads,
    ...options.agentEnv,
  });
  const seen: WholeWay['seen'] = [];
  const download = async (name: string, from: string): Promise<Buffer> => {
    const response = await fetch(from, { headers: { authorization: `Bearer ${keys.apiKey}` } });
    expect(response.status, from).toBe(200);
    const bytes = Buffer.from(await response.arrayBuffer());
    const headers = Buffer.from(JSON.stringify([...response.headers]));
    seen.push({ name, bytes }, { name: `headers of ${name}`, bytes: headers });
    return bytes;
  };
  return {
    folder,
    base,
    keys,
    api,
    service,
    agent,
    seen,
    download,
    finalResult: async <R extends Stored>(id: string, resultId?: string) => {
      const path = `/v1/check-results/${id}`;
      const result = await until(
        async () => {
          const at = resultId === undefined ? `${path}?limit=1` : `${path}/${resultId}`;
          const { body } = await api<R | R[]>('GET', at);
          const [found] = Array.isArray(body) ? body : [body];
          const pending = (found?.artifacts ?? []).some(({ state }) => state === 'pending');
          return found !== undefined && !pending && found;
        },
        'a result with all its files',
        120_000,
      );
      await download(`result of ${id}`, `${base}${path}/${result.id}`);
      const files: SeenFile[] = [];
      for (const { name, size, url } of result.artifacts ?? [])
        files.push({ name, size, bytes: await download(name, url ?? '') });
      const output = files.find(({ name }) => name === 'output.log')?.bytes.toString() ?? '';
      return { result, output, files };
    },
    close: async () => {
      killAll();
      rmSync(folder, { recursive: true, force: true });
      await place.remove();
    },
  };
}
