/**
 * What lists show of definitions, code and configs (SQL): a page of a hundred must stay small, however large its members are. Large
 * texts go first, then everything that may be large; `isPartial` says that something has gone.
 */

/** Of each, as stored (compressed), which is quick to tell, and as text. */
const storedBytes = 32 * 1024;
const textBytes = 64 * 1024;

const scripts = ['localSetupScript', 'localTearDownScript', 'script'];
const large = ['request', 'environmentVariables', 'heartbeat', 'apiCheckDefaults', 'browserCheckDefaults'];

const without = (fields: readonly string[]) => `definition - '{${fields.join(',')}}'::text[]`;
// In a case, so that nothing large is unpacked only to be measured.
const fits = (value: string) =>
  `case when pg_column_size(${value}) <= ${storedBytes} then octet_length((${value})::text) <= ${textBytes} else false end`;

/** Selects `definition` (and `code`, where the table has it) as far as lists show it, and `isPartial`. */
export const listedDefinition = `case when ${fits('definition')} then definition
  when octet_length((${without(scripts)})::text) <= ${textBytes} then ${without(scripts)}
  else ${without([...scripts, ...large])} end as definition`;
export const listedCode = `case when ${fits('code')} then code end as code`;
export const partialDefinition = `not (${fits('definition')})`;
export const partialCode = `(code is not null and not (${fits('code')}))`;

/** Of an alert channel: `config`, and whether something of it has gone. */
const longConfig = '{template,headers,queryParameters}';
export const listedConfig = `case when ${fits('config')} then config else config - '${longConfig}'::text[] end as config`;
export const partialConfig = `not (${fits('config')})`;
