import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Clean } from 'typebox/value';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import type { AgentRoute } from '../../protocol/routes.ts';
import type { BodyShape } from '../http/body-shape.ts';
import { badRequest } from '../http/errors.ts';

/** Limits and validation of the JSON bodies of agents. A key of a location must not be able to block the service. */

type Limits = { bytes: number; shape: BodyShape };

const kilobyte = 1024;
const megabyte = 1024 * kilobyte;
/** Enough for the largest batch of the protocol and its JSON envelope. */
const batchBytes = protocolLimits.batchBytes + megabyte;
/** More than any call but results needs. Unknown fields of newer agents count too. */
const levels = 20;

function small(bytes: number, values: number): Limits {
  return { bytes, shape: { depth: levels, values, plain: bytes } };
}

/** Limits of each call: several times what the largest valid body has. */
export const bodyLimits: { readonly [R in AgentRoute]: Limits } = {
  hello: small(256 * kilobyte, 2_000),
  claim: small(64 * kilobyte, 1_000),
  release: small(64 * kilobyte, 1_000),
  events: small(8 * megabyte, 20_000),
  artifactStates: small(megabyte, 10_000),
  // 10,000 leases, and log lines of suites.
  renew: { bytes: batchBytes, shape: { depth: levels, values: 200_000, plain: batchBytes } },
  // A result that is too deep is rejected by itself.
  results: { bytes: batchBytes, shape: { depth: 1_000_000, values: 1_000_000, plain: batchBytes } },
};

/** The validator lists all errors before it returns the first ones: 13 s for 8 million values. */
const explainedValues = 5_000;

/** Whether a value is small enough to look for its errors. */
export function isExplainable(value: unknown): boolean {
  let left = explainedValues;
  const visit = (item: unknown): boolean => {
    left -= 1;
    if (left < 0) return false;
    if (typeof item !== 'object' || item === null) return true;
    for (const key in item) {
      if (!visit((item as { [key: string]: unknown })[key])) return false;
    }
    return true;
  };
  return visit(value);
}

/**
 * Validates a body against a route's schema and removes unknown fields, because some bodies are stored and unknown
 * fields may have any size and depth. Throws HttpError 400 that names the first invalid fields.
 */
export function bodyParser<Body>(schema: TSchema): (body: unknown) => Body {
  const validator = Compile(schema);
  return (body) => {
    if (validator.Check(body)) return Clean(schema, body) as Body; // checked against the schema of Body's type
    if (!isExplainable(body)) {
      throw badRequest({
        body: [`is malformed; it has more than ${explainedValues} values to look through`],
      });
    }
    const attributes: { [path: string]: string[] } = {};
    for (const error of validator.Errors(body).slice(0, 10)) {
      const path = error.instancePath.slice(1).replaceAll('/', '.') || 'body';
      (attributes[path] ??= []).push(error.message);
    }
    throw badRequest(attributes);
  };
}
