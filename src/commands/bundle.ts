import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { backoffMs, pause } from '../agent/link/backoff.ts';
import { createTransport, type Answer, type Transport } from '../agent/link/transport.ts';
import { readAccountKey, readAgentSettings } from '../config.ts';
import { exitCodes, FatalError, ServiceError } from '../errors.ts';
import { packBundle, type PackedBundle } from '../script/suite/bundle/pack.ts';
import { version } from '../version.ts';
import { parseArguments, usageError, type Command } from './command.ts';
import { bundleLine } from './line/bundle.ts';
import { inTemporaryFolder } from './temporary-folder.ts';
import { printable } from './terminal-text.ts';

const path = '/v1/playwright-bundles';
/** A connection without traffic for this long is closed. */
const stalledMs = 60_000;
const maxTries = 4;

/**
 * `bundle DIR [--include GLOB]… [--api-key-file FILE] [--json]`: packs a Playwright project and uploads it to the
 * service. Prints `{"key","digest"}` on standard output (`--json` adds facts about the archive) and warnings on
 * standard error.
 */
export const bundle: Command = async (args, { env, stdout, stderr }) => {
  const { values, positionals } = parseArguments(args, bundleLine);
  const [folder, ...others] = positionals;
  if (folder === undefined) throw usageError('bundle needs the folder of a Playwright project', bundleLine);
  if (others.length > 0) throw usageError('bundle takes one folder', bundleLine);
  const key = readAccountKey(env, values['api-key-file'] ?? null);
  const { serviceUrl, proxy, extraCaFile } = readAgentSettings(env);
  const transport = await createTransport({
    serviceUrl,
    proxy,
    extraCaFile,
    headers: { authorization: `Bearer ${key.reveal()}`, 'user-agent': `location-agent/${version}` },
  });
  try {
    return await inTemporaryFolder(async (temporary, signal) => {
      const archive = join(temporary, 'bundle.tgz');
      const packed = await packBundle({ folder, to: archive, include: values.include ?? [] });
      stderr(packedLines(packed));
      const stored = await upload({ transport, serviceUrl, archive, packed, signal });
      stdout(`${JSON.stringify(values.json ? { ...stored, ...factsOf(packed) } : stored)}\n`);
      return exitCodes.done;
    });
  } finally {
    transport.close();
  }
};

/** Summary and warnings of a packed bundle, for a person. */
export function packedLines(packed: PackedBundle): string {
  const { files, size, root, workingDir, warnings } = packed;
  const where = workingDir === '' ? '' : `, workingDir ${JSON.stringify(workingDir)}`;
  const lines = [
    ...warnings.map((warning) => `warning: ${printable(warning)}`),
    `packed ${files} files of ${printable(root)} (${(size / 1024 / 1024).toFixed(1)} MB)${where}`,
  ];
  return lines.map((line) => `location-agent: ${line}\n`).join('');
}

const factsOf = ({ size, files, workingDir, lockFile, warnings }: PackedBundle) => ({
  size,
  files,
  workingDir,
  lockFile,
  warnings,
});

type Upload = {
  transport: Pick<Transport, 'send'>;
  serviceUrl: URL;
  archive: string;
  packed: Pick<PackedBundle, 'digest' | 'size'>;
  signal: AbortSignal;
};

/** Uploads an archive to the service. Throws FatalError: exit code 77 = the key is rejected, 2 = any other failure. */
export async function upload({ transport, serviceUrl, archive, packed, signal }: Upload) {
  for (let tries = 1; ; tries++) {
    try {
      const answer = await transport.send({
        method: 'POST',
        path,
        headers: { 'content-type': 'application/octet-stream', 'content-length': packed.size },
        body: createReadStream(archive, { highWaterMark: 256 * 1024 }),
        idleMs: stalledMs,
        answerBytes: 64 * 1024,
        signal,
      });
      const { key, digest } = storedIn(answer, serviceUrl);
      if (digest !== packed.digest)
        throw failed(`${serviceUrl.origin} stored different bytes than were sent`);
      return { key, digest };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (!error.retryable || tries === maxTries) {
        throw failed(`the bundle was not uploaded to ${serviceUrl.origin}: ${error.message}`, error);
      }
      // eslint-disable-next-line no-restricted-properties -- a wait of the command itself
      await pause(error.retryAfterMs ?? backoffMs(tries, Math.random), signal);
      signal.throwIfAborted();
    }
  }
}

/** Returns key and digest from the service's answer, or throws its refusal as an error. */
function storedIn({ status, body }: Answer, serviceUrl: URL): { key: string; digest: string } {
  const json = fieldsIn(body);
  const { key, digest, message } = json;
  if ((status === 200 || status === 201) && typeof key === 'string' && typeof digest === 'string')
    return { key, digest };
  if (status === 401 && typeof message === 'string') {
    throw new FatalError('KEY_REFUSED', `SERVICE_API_KEY was rejected by ${serviceUrl.origin}`, {
      exitCode: exitCodes.keyRefused,
      remedy: 'set it to a key of the account',
    });
  }
  const isOwn = typeof message === 'string';
  const words = isOwn
    ? `status ${status}: ${printable(message)}`
    : `status ${status} from something that is not the service`;
  // A proxy may answer in place of the service for a while.
  const retryable = status >= 500 || status === 408 || status === 425 || status === 429;
  throw new ServiceError(isOwn ? 'SERVICE_REFUSED' : 'SERVICE_UNREACHABLE', words, { status, retryable });
}

function fieldsIn(body: Buffer): { [name: string]: unknown } {
  try {
    const json: unknown = JSON.parse(body.toString('utf8'));
    return typeof json === 'object' && json !== null ? { ...json } : {};
  } catch {
    return {};
  }
}

function failed(message: string, cause?: unknown): FatalError {
  return new FatalError('CONFIGURATION', message, { exitCode: exitCodes.couldNotRun, cause });
}
