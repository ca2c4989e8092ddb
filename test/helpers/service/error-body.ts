import { STATUS_CODES } from 'node:http';

/** The fields of every error of the service besides `message` and `attributes`. */
export const statusFields = (statusCode: number) => ({ statusCode, error: STATUS_CODES[statusCode] });
