import { sqlTypesWhere } from '../checks/types/table.ts';
import { jobTypes, laneOf } from '../../protocol/check-types.ts';

/** Types of checks that agents hold, as a list for SQL: those of the uptime lane. Others wait in the queue for a slot. */
export const uptimeLaneTypes = `(${jobTypes
  .filter((type) => laneOf[type] === 'uptime')
  .map((type) => `'${type}'`)
  .join(', ')})`;

/** Types of checks whose jobs carry client certificates, as a list for SQL. */
export const certificateTypes = sqlTypesWhere(({ hasClientCertificates }) => hasClientCertificates);
