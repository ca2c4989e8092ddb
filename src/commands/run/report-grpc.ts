import { isFields, type Fields } from '../../json-values.ts';
import { printableLine } from '../terminal-text.ts';

/** Formats what a gRPC check called and got for a terminal: method, status, health, message and trailers. */

const maxShownText = 120;
const maxEntries = 10;

/** Lines of a gRPC check's details; empty for other types. */
export function grpcLines({ response, reflectionMs }: Fields): string[] {
  if (!isFields(response) || typeof response['grpcMethod'] !== 'string') return [];
  const status = [response['grpcStatusName'], response['grpcStatusMessage']].filter(isShown).join(': ');
  const count = response['messages'];
  const facts: [string, unknown][] = [
    ['method', response['grpcMethod']],
    ['status', status],
    ['health', response['healthStatusLabel']],
    ['message', response['responseMessage']],
    ['messages', typeof count === 'number' && count > 1 ? count : null],
    ['reflection', typeof reflectionMs === 'number' ? `${reflectionMs.toFixed(1)} ms` : null],
    ...entries('metadata', response['metadata']),
    ...entries('trailer', response['trailers']),
  ];
  return facts
    .filter(([, value]) => isShown(value))
    .map(([name, value]) => `${name.padEnd(12)}  ${printableLine(String(value), maxShownText)}`);
}

const isShown = (value: unknown) => value !== null && value !== undefined && value !== '';

const entries = (name: string, values: unknown): [string, string][] =>
  (Array.isArray(values) ? values : [])
    .filter(isFields)
    .slice(0, maxEntries)
    .map(({ key, value }) => [name, `${String(key)}: ${String(value)}`]);
