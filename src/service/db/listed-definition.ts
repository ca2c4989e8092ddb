/**
 * SQL for the part of definitions, code and configs that lists show. A page of a hundred must stay small, however
 * large its members are. Long texts are omitted first, then every other large field; `isPartial` reports the
 * omission.
 */

/** Limits of each value: its stored (compressed) size, which is quick to read, and its text length. */
const storedBytes = 32 * 1024;
const textBytes = 64 * 1024;

const scripts = ['localSetupScript', 'localTearDownScript', 'script'];
const large = ['request', 'environmentVariables', 'heartbeat', 'apiCheckDefaults', 'browserCheckDefaults'];

const without = (fields: readonly string[]) => `definition - '{${fields.join(',')}}'::text[]`;
// A `case`, so that a large value is not decompressed only to be measured.
const fits = (value: string) =>
  `case when pg_column_size(${value}) <= ${storedBytes} then octet_length((${value})::text) <= ${textBytes} else false end`;

/** Selects `isPartial`, `definition` and, where the table has it, `code`, as far as lists show them. */
export const listedDefinition = `case when ${fits('definition')} then definition
  when octet_length((${without(scripts)})::text) <= ${textBytes} then ${without(scripts)}
  else ${without([...scripts, ...large])} end as definition`;
export const listedCode = `case when ${fits('code')} then code end as code`;
export const partialDefinition = `not (${fits('definition')})`;
export const partialCode = `(code is not null and not (${fits('code')}))`;

/** The same for `config` of an alert channel. */
const longConfig = '{template,headers,queryParameters}';
export const listedConfig = `case when ${fits('config')} then config else config - '${longConfig}'::text[] end as config`;
export const partialConfig = `not (${fits('config')})`;
