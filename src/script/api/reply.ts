import { bytesBetween, logLineLength, secretBytes, type FromChild } from '../child/api/messages.ts';
import { isFields } from '../../json-values.ts';

/**
 * Messages of a child that runs customer code. The code can write to the channel itself, so this file checks every
 * message. A message that is not exactly in our format becomes null, and the child is then killed.
 */
export function readReply(message: unknown): FromChild | null {
  if (!isFields(message)) return null;
  const { kind, id } = message;
  switch (kind) {
    case 'log': {
      const { level, msg } = message;
      if (level !== 'debug' && level !== 'info' && level !== 'warn' && level !== 'error') return null;
      return isText(msg, logLineLength) ? { kind, level, msg } : null;
    }
    case 'secret': {
      const { name, value } = message;
      return isText(name, 256) && isText(value, secretBytes) && value !== '' ? { kind, name, value } : null;
    }
    case 'lost-secret': {
      const { limit } = message;
      return limit === 'count' || limit === 'length' ? { kind, limit } : null;
    }
    case 'failed': {
      const { code, message: text, at } = message;
      if (!isId(id) || (code !== 'SCRIPT_THREW' && code !== 'SCRIPT_INVALID')) return null;
      if (!isText(text, 4096) || !(at === null || isText(at, 1024))) return null;
      return { kind, id, code, message: text, at };
    }
    case 'done': {
      const { request, body, env } = message;
      if (!isId(id) || !isFields(env) || !isTexts(env['set']) || !isNames(env['unset'])) return null;
      if (!(body === null || isText(body, bytesBetween))) return null;
      if (!fits(env)) return null;
      const changes = { set: env['set'], unset: env['unset'] };
      if (request === null) return { kind, id, request, body, env: changes };
      if (!isFields(request)) return null;
      const { method, url, body: sent, headers, queryParameters } = request;
      if (!isText(method, bytesBetween) || !isText(url, bytesBetween)) return null;
      if (!isTexts(headers) || !isTexts(queryParameters)) return null;
      if (!(sent === null || isText(sent, bytesBetween))) return null;
      if (!fits({ headers, queryParameters })) return null;
      return { kind, id, request: { method, url, body: sent, headers, queryParameters }, body, env: changes };
    }
    default:
      return null;
  }
}

const isId = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value);

const isText = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value.length <= most;

function isTexts(value: unknown): value is { [name: string]: string } {
  return isFields(value) && Object.values(value).every((each) => typeof each === 'string');
}

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

/** The child checks the same limit with a better message; this check holds whatever the child does. */
const fits = (value: unknown): boolean => JSON.stringify(value).length <= bytesBetween;
