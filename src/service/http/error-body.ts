import { STATUS_CODES } from 'node:http';
import type { ErrorAttributes } from './validation-errors.ts';

/** What every error answer of the service holds, as JSON. */
export type ErrorAnswer = {
  statusCode: number;
  /** The reason phrase of the status, like `Not Found`. */
  error: string;
  message: string;
  attributes: ErrorAttributes;
};

/** The body of an error answer: the status in numbers and words, a sentence, and the reasons of each bad field. */
export function errorBody(
  statusCode: number,
  message: string,
  attributes: ErrorAttributes = {},
): ErrorAnswer {
  return { statusCode, error: STATUS_CODES[statusCode] ?? 'Unknown Error', message, attributes };
}
