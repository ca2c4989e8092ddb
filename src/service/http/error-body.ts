import { STATUS_CODES } from 'node:http';
import type { ErrorAttributes } from './validation-errors.ts';

/** The JSON body of every error answer of the service. */
export type ErrorAnswer = {
  statusCode: number;
  /** The reason phrase of the status, for example `Not Found`. */
  error: string;
  message: string;
  attributes: ErrorAttributes;
};

/** Builds the body of an error answer: status code and phrase, a sentence, and the reasons for each invalid field. */
export function errorBody(
  statusCode: number,
  message: string,
  attributes: ErrorAttributes = {},
): ErrorAnswer {
  return { statusCode, error: STATUS_CODES[statusCode] ?? 'Unknown Error', message, attributes };
}
