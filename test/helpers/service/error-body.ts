import { STATUS_CODES } from 'node:http';

/** What every error of the service holds besides `message` and `attributes`. */
export const statusFields = (statusCode: number) => ({ statusCode, error: STATUS_CODES[statusCode] });
