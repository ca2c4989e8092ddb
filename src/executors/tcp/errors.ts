import { AgentError, JobAborted, toError } from '../../errors.ts';
import { reasonOf, reasonOwner, type Reason, type ReasonCode } from '../../protocol/reasons.ts';
import { ResolveError, type IpFamily } from '../interface/network.ts';

/** A socket's error for a result, with the fields that the platform provides. */
export type SocketErrorFields = {
  code: string;
  syscall?: string;
  address?: string;
  port?: number;
  hostname?: string;
};

/** Resources that this process or host lacks: descriptors, memory, free ports. Never charged to the target. */
const ours = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EAGAIN']);

/** Platform codes that the list of reasons does not contain. */
const equivalents: { readonly [code: string]: ReasonCode } = {
  EADDRNOTAVAIL: 'ENETUNREACH',
  EAFNOSUPPORT: 'ENETUNREACH',
  ENETDOWN: 'ENETUNREACH',
  EPERM: 'EACCES',
  ERR_STREAM_PREMATURE_CLOSE: 'CONNECTION_CLOSED',
};

function isTargetsCode(code: string): code is ReasonCode {
  return reasonOwner[code as ReasonCode] === 'target'; // undefined for other texts
}

/**
 * Reason for a failed lookup or connection. Throws AgentError (NETWORK_UNAVAILABLE) if this host lacks something,
 * such as a free file descriptor. Rethrows any error that is not a failed lookup or connection, because our own
 * faults must not be charged to the target.
 */
export function connectionReason(thrown: unknown): Reason {
  const error = toError(thrown);
  if (error instanceof ResolveError) return reasonOf(error.code, error.message);
  const { code = '', syscall, address } = error as NodeJS.ErrnoException & { address?: string }; // what net and dgram throw
  const noFreePort = code === 'EADDRNOTAVAIL' && address !== undefined && !address.includes(':');
  if (ours.has(code) || noFreePort) {
    throw new AgentError('NETWORK_UNAVAILABLE', `this host could not open a connection: ${error.message}`, {
      cause: error,
    });
  }
  if (isTargetsCode(code)) return reasonOf(code, error.message);
  const equivalent = equivalents[code] ?? (syscall === undefined ? null : 'EHOSTUNREACH');
  if (equivalent === null) throw thrown;
  return reasonOf(equivalent, error.message);
}

/** The error's own fields, with the requested host name if it is about a name. */
export function errorFields(
  thrown: unknown,
  target: { hostname: string; family: IpFamily },
): SocketErrorFields {
  const error = toError(thrown);
  if (error instanceof ResolveError) {
    if (error.code === 'ERR_INVALID_IP_ADDRESS') return { code: error.code, hostname: target.hostname };
    return {
      code: error.code,
      syscall: target.family === 4 ? 'queryA' : 'queryAaaa',
      hostname: target.hostname,
    };
  }
  const { code, syscall, address, port } = error as NodeJS.ErrnoException & {
    address?: string;
    port?: number;
  }; // what net throws
  return {
    code: code ?? error.name,
    ...(syscall === undefined ? {} : { syscall }),
    ...(address === undefined ? {} : { address }),
    ...(port === undefined ? {} : { port }),
  };
}

/** True if the signal fired for the attempt's deadline; throws its reason if it fired for another; else false. */
export function deadlinePassed(signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  if (signal.reason instanceof JobAborted && signal.reason.code === 'deadline') return true;
  throw signal.reason;
}
