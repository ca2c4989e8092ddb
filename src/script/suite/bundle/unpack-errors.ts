import { AgentError, toError } from '../../../errors.ts';
import { reasonOf } from '../../../protocol/reasons.ts';
import { SuiteFailed } from '../place/place.ts';
import { maxPathBytes } from './paths.ts';
import { shortened } from '../../../shortened.ts';

/** The name of an entry in a message. */
export const shown = (name: string): string => JSON.stringify(shortened(name, 200));
/** Rounds down to MB. */
export const megabytes = (bytes: number): string => `${Math.floor(bytes / 1024 / 1024)} MB`;

/** The failure of a suite with an invalid archive; `what` is what is wrong with it. */
export function invalid(what: string): SuiteFailed {
  return new SuiteFailed(reasonOf('BUNDLE_INVALID', `the code bundle cannot be used: ${what}`));
}

/** As `invalid`, for one entry of the archive. */
export function wrongEntry(path: string, what: string): SuiteFailed {
  return invalid(`entry ${shown(path)} ${what}`);
}

/** Attributes an error to the archive, the disk, or the agent. */
export function ownError(error: unknown): Error {
  if (error instanceof SuiteFailed || error instanceof AgentError) return error;
  const { code, message } = toError(error) as NodeJS.ErrnoException; // most of these are system errors
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new AgentError('DISK_FULL', 'no room on the disk to unpack the code bundle', { cause: error });
  if (code === 'ENAMETOOLONG')
    return invalid(`it has paths that are too long for this system (${maxPathBytes})`);
  if (code === 'EEXIST') return invalid('two of its names are one on this file system');
  if (code?.startsWith('Z_')) return invalid(`it is damaged or not a gzip archive (${message})`);
  // The parser's own errors have no code.
  if (code === undefined || code.startsWith('ERR_STREAM'))
    return invalid(`it is not a tar archive (${message})`);
  return new AgentError('INTERNAL', `the code bundle could not be unpacked: ${message}`, { cause: error });
}
