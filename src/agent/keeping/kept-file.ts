import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { promises as fs } from 'node:fs';
import { join } from 'node:path';
import { Compile } from 'typebox/compile';
import { Assignment, SharedVariables } from '../../protocol/assignments.ts';
import { parsedJson } from '../../json-values.ts';
import {
  beatFolder,
  beatsOf,
  isOwnerGone,
  ownerBeatMs,
  ownerFiles,
  signFolder,
  unsignFolder,
} from '../folders/owner.ts';

/**
 * Keeps the held checks over a restart, in a folder of each process below `assignments/` of the data directory. They
 * contain variables and certificates, so the file is encrypted with a key that follows from the agent's API key.
 */
export type KeptFile = {
  /** Takes over the checks of dead processes of this data directory. Never rejects. */
  adopt: () => Promise<Adopted | null>;
  /** Replaces what is kept. Writes that come while one is in progress are combined. Never rejects. */
  save: (kept: Kept) => void;
  /** Resolves when nothing is being written; what is kept stays for the next process. */
  close: () => Promise<void>;
};

export type Kept = {
  /** The ids under which the agent held them. */
  holders: string[];
  checks: Assignment[];
  reportedTo: number | null;
  /** When the agent last heard of the service, by the service's clock. */
  heardAt: number;
  /** They are stopped while the service is away. */
  stopsInOutages: boolean;
  /** Of the account, for checks whose jobs are without them. */
  variables: SharedVariables | null;
};

export type Adopted = Kept & {
  /**
   * The dead processes. The service may have given one of them checks whose answer to hello never came, or was not written
   * here, so that its id is not known.
   */
  instances: string[];
};

/** Each process that says hello names the earlier ones, so that those before the last few no longer matter. */
const mostInstances = 8;

/** Agents of an earlier release do not read it: they would run the checks without the variables that are apart. */
const fileName = 'held-apart';
/** What those agents write. */
const earlierFileName = 'held';
const assignments = Compile(Assignment);
const sharedVariables = Compile(SharedVariables);

export function createKeptFile(options: {
  root: string;
  instanceId: string;
  apiKey: string;
  onError: (error: unknown) => void;
}): KeptFile {
  const { root, instanceId, onError } = options;
  const folder = join(root, instanceId);
  const key = createHash('sha256').update(`assignments of ${options.apiKey}`).digest();
  let signing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let next: Kept | null = null;
  let instances: string[] = [];
  let writing: Promise<void> | null = null;

  const sign = () =>
    (signing ??= (async () => {
      await signFolder(folder);
      await beatFolder(folder);
      timer = setInterval(beatsOf(folder), ownerBeatMs);
      timer.unref();
    })().catch((error: unknown) => {
      signing = null;
      throw error;
    }));

  const write = async (kept: Kept): Promise<void> => {
    await sign();
    const path = join(folder, fileName);
    await fs.writeFile(`${path}.new`, sealed(JSON.stringify({ ...kept, instances }), key), { mode: 0o600 });
    await fs.rename(`${path}.new`, path);
  };

  const writeAll = async (): Promise<void> => {
    while (next !== null) {
      const kept = next;
      next = null;
      try {
        await write(kept);
      } catch (error) {
        onError(error);
      }
    }
  };

  return {
    adopt: async () => {
      let found: Adopted | null = null;
      try {
        const entries = await fs.readdir(root, { withFileTypes: true }).catch(() => []);
        if (entries.length === 0) return null;
        await sign();
        const dead: string[] = [];
        for (const entry of entries) {
          const other = join(root, entry.name);
          if (!entry.isDirectory() || entry.name === instanceId) continue;
          const isDead = await isOwnerGone(other, join(folder, ownerFiles.alive), (names) =>
            names.some((name) => name === fileName || name === earlierFileName),
          ).catch(() => false);
          if (!isDead) continue;
          const kept =
            (await readKept(join(other, fileName), key)) ??
            (await readKept(join(other, earlierFileName), key));
          if (kept !== null) {
            kept.instances.push(entry.name);
            found = found === null ? kept : merged(found, kept);
          }
          dead.push(other);
        }
        // First, because this process may be killed at any moment, too.
        if (found !== null) {
          found.instances = instances = found.instances.slice(-mostInstances);
          await write(found);
        }
        for (const other of dead) {
          await unsignFolder(other).catch(() => undefined);
          await fs.rm(other, { recursive: true, force: true });
        }
      } catch (error) {
        onError(error);
      }
      return found;
    },
    save: (kept) => {
      next = kept;
      writing ??= writeAll().finally(() => {
        writing = null;
      });
    },
    close: async () => {
      await writing;
      clearInterval(timer);
      if (signing !== null) await unsignFolder(folder).catch(() => undefined);
    },
  };
}

/** Of two processes that shared the folder. The same check in both: what the one that heard of the service last has. */
function merged(a: Adopted, b: Adopted): Adopted {
  const [older, newer] = a.heardAt < b.heardAt ? [a, b] : [b, a];
  const checks = new Map([...older.checks, ...newer.checks].map((check) => [check.checkId, check]));
  return {
    holders: [...new Set([...a.holders, ...b.holders])],
    instances: [...new Set([...a.instances, ...b.instances])],
    checks: [...checks.values()],
    reportedTo: a.reportedTo === null || b.reportedTo === null ? null : Math.min(a.reportedTo, b.reportedTo),
    heardAt: newer.heardAt,
    stopsInOutages: newer.stopsInOutages,
    variables: newer.variables ?? older.variables,
  };
}

/** Validates each assignment by itself, so that one malformed check does not affect the others. */
export function readAssignments(items: readonly unknown[]): { checks: Assignment[]; invalid: number } {
  const checks = items.filter((item): item is Assignment => assignments.Check(item));
  return { checks, invalid: items.length - checks.length };
}

async function readKept(path: string, key: Buffer): Promise<Adopted | null> {
  const bytes = await fs.readFile(path).catch(() => null);
  const text = bytes === null ? null : opened(bytes, key);
  const kept = text === null ? null : (parsedJson(text) as Partial<Adopted> | undefined); // checked below
  if (kept === null || kept === undefined || !Array.isArray(kept.checks)) return null;
  // Earlier releases do not write the instances.
  const { holders, reportedTo, heardAt, instances = [] } = kept;
  if (!Array.isArray(holders) || typeof heardAt !== 'number') return null;
  return {
    holders: holders.filter((id) => typeof id === 'string'),
    instances: instances.filter((id) => typeof id === 'string'),
    checks: readAssignments(kept.checks).checks,
    reportedTo: typeof reportedTo === 'number' ? reportedTo : null,
    heardAt,
    stopsInOutages: kept.stopsInOutages === true,
    variables: sharedVariables.Check(kept.variables) ? kept.variables : null,
  };
}

function sealed(text: string, key: Buffer): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

/** Null if it was written with another key, or is damaged. */
function opened(bytes: Buffer, key: Buffer): string | null {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12));
    decipher.setAuthTag(bytes.subarray(12, 28));
    return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}
