import { badRequest } from '../http/errors.ts';
import type { ErrorAttributes } from '../http/validation-errors.ts';
import type { DeployBody } from './schema.ts';

/** Limits and rules of bodies that describe the resources of a project. */

/** Limits of the body of a deployment, which holds thousands of resources. */
export const deployBytes = 64 * 1024 * 1024;
export const deployShape = { depth: 26, values: 800_000, plain: 16 * 1024 * 1024 };

/** Throws 400 for resources that break a rule which no schema can express. */
export function checkResources({ resources }: Pick<DeployBody, 'resources'>): void {
  const attributes: ErrorAttributes = {};
  const seen = new Set<string>();
  for (const { type, logicalId, physicalId, member } of resources) {
    const key = `${type}/${logicalId}`;
    if (seen.has(key)) attributes[`${key}.logicalId`] = ['is given twice'];
    if (!member && physicalId === undefined)
      attributes[`${key}.physicalId`] = ['is required with member false'];
    seen.add(key);
  }
  if (Object.keys(attributes).length > 0) throw badRequest(attributes);
}
