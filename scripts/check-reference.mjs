/** Writes docs/checks.md from the schemas of checks; `--check` only reports whether it is up to date (exit 1 if not). */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { examples } from './docs/check-examples.mjs';
import { comparisonMeanings, meanings, sourceMeanings } from './docs/check-meanings.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const compiled = (...parts) => join(root, 'dist', ...parts);
if (!existsSync(compiled('main.js'))) {
  process.stderr.write('check-reference: dist/ is missing; run `npm run build` first\n');
  process.exit(2);
}
const { checkSchemas } = await import(compiled('service', 'checks', 'fields', 'schema.js'));
const { serviceCheckTypes } = await import(compiled('service', 'checks', 'types', 'table.js'));
const { assertionGrammar, comparisons, sslProperties } = await import(compiled('protocol', 'assertions.js'));

const known = (table, name) => {
  if (!Object.hasOwn(table, name))
    throw new Error(`${name} has no meaning in scripts/docs/check-meanings.mjs`);
  return table[name];
};

/** The branch of a nullable schema that is not null. */
const solid = (schema) => schema.anyOf?.find(({ type }) => type !== 'null') ?? schema;

/** Every field of a schema with its path, except fields that the service sets. */
function fieldsOf(schema, path = '', isRequired = true) {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    // Each section names its type.
    if (path === '' && name === 'checkType') return [];
    if (Object.keys(property).every((key) => key === 'description')) return [];
    const full = path === '' ? name : `${path}.${name}`;
    const required = isRequired && (schema.required ?? []).includes(name) && property.default === undefined;
    const own = { path: full, property, required };
    const inner = solid(property);
    const below =
      inner.items === undefined ? fieldsOf(inner, full) : fieldsOf(solid(inner.items), `${full}[]`);
    return [own, ...below];
  });
}

const code = (text) => `\`${text}\``;

function typeOf(property) {
  const inner = solid(property);
  const types = [inner.type].flat().filter((type) => type !== 'null' && type !== undefined);
  const isNullable = inner !== property || [inner.type].flat().includes('null');
  const item = inner.items === undefined ? null : typeOf(inner.items).replace(/ or null$/, '');
  const word = item === null ? types.join(' or ') : `list of ${item}`;
  return `${word === 'list of object' ? 'list of objects' : word}${isNullable ? ' or null' : ''}`;
}

function limitsOf(property) {
  const inner = solid(property);
  const { minimum, maximum, minLength, maxLength, maxItems, pattern } = { ...property, ...inner };
  const values = inner.enum ?? inner.items?.enum;
  const listed = values?.filter((value) => value !== null);
  const range = (low, high, unit) =>
    low === undefined && high === undefined
      ? []
      : low === undefined
        ? [`at most ${high}${unit}`]
        : high === undefined || high === Number.MAX_SAFE_INTEGER
          ? [`at least ${low}${unit}`]
          : [`${low} to ${high}${unit}`];
  return [
    ...(listed === undefined ? [] : [listed.map(code).join(', ')]),
    ...range(minimum, maximum, ''),
    ...range(minLength, maxLength, ' characters'),
    ...(maxItems === undefined || listed !== undefined ? [] : [`at most ${maxItems} items`]),
    ...(pattern === undefined || listed !== undefined ? [] : [`pattern ${code(pattern)}`]),
  ].join('; ');
}

function defaultOf({ property, required }) {
  if (required) return 'required';
  if (property.default === undefined) return 'none';
  const text = JSON.stringify(property.default);
  return typeof property.default === 'object' && property.default !== null && !Array.isArray(property.default)
    ? 'the defaults below'
    : code(text);
}

const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const sentence = (text) => {
  const whole = `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
};
function meaningOf({ path, property }) {
  return sentence(property.description ?? known(meanings, path));
}
const table = (fields) => [
  '| field | type | default | limits | meaning |',
  '| --- | --- | --- | --- | --- |',
  ...fields
    .map((field) =>
      [code(field.path), typeOf(field.property), defaultOf(field), limitsOf(field.property), meaningOf(field)]
        .map(cell)
        .join(' | '),
    )
    .map((row) => `| ${row} |`),
];

const types = Object.keys(checkSchemas);
const all = new Map(types.map((type) => [type, fieldsOf(checkSchemas[type].create)]));
/** Fields that every type has in the same form. */
const isShared = ({ path, property }) =>
  types.every((type) =>
    all
      .get(type)
      .some((other) => other.path === path && JSON.stringify(other.property) === JSON.stringify(property)),
  );
const shared = all.get('URL').filter(isShared);
const topOf = (path) => path.split(/[.[]/)[0];

const how = {
  probe: (type) => [
    'Save the body as `check.json` and run it without a service:',
    '',
    '```json check',
    JSON.stringify({ checkType: type, ...examples[type] }, null, 2),
    '```',
    '',
    '```sh check',
    'location-agent run check.json',
    '```',
  ],
  script: (type) => [
    'Save the script as `check.spec.ts` and run it without a service:',
    '',
    '```ts check',
    examples[type].script.trimEnd(),
    '```',
    '',
    '```sh check',
    `location-agent run check.spec.ts${type === 'MULTI_STEP' ? ' --type MULTI_STEP' : ''}`,
    '```',
  ],
  body: (type) => [
    `Send the body to \`POST /v1/checks/${serviceCheckTypes[type].path}\`:`,
    '',
    '```json check',
    JSON.stringify(examples[type], null, 2),
    '```',
  ],
};
const formOf = (type) =>
  type in assertionGrammar ? 'probe' : serviceCheckTypes[type].code === 'script' ? 'script' : 'body';

const notes = {
  DNS: 'The port is that of the sample name server of `location-agent dev`; `GET /v1/checks` shows it.',
  SSL: 'The port is that of a sample target of `location-agent dev`, with a private authority; `GET /v1/checks` shows it.',
  GRPC: 'The port is that of a sample target of `location-agent dev`, which speaks without TLS; `GET /v1/checks` shows it.',
  PLAYWRIGHT:
    '`$BUNDLE_KEY` is the key that `location-agent bundle` prints for a Playwright project ([suites-in-the-service.md](suites-in-the-service.md)).',
  HEARTBEAT: 'The answer contains the URL that your job calls ([heartbeats.md](heartbeats.md)).',
  AGENTIC: 'The service needs a language model for it ([agentic.md](agentic.md)).',
};

const sections = types.flatMap((type) => {
  const own = all.get(type).filter((field) => !isShared(field) && topOf(field.path) !== 'sslCheckDomain');
  const ssl = all.get(type).filter((field) => field.path === 'sslCheckDomain' && !isShared(field));
  return [
    `## ${type}`,
    '',
    ...how[formOf(type)](type),
    '',
    ...(notes[type] === undefined ? [] : [notes[type], '']),
    `The API creates it with \`POST /v1/checks/${serviceCheckTypes[type].path}\`; the path names the type, so omit \`checkType\` there.`,
    'It also has the [shared fields](#shared-fields).',
    '',
    ...table([...own, ...ssl].filter(({ path }) => !path.startsWith('request.assertions[]'))),
    '',
  ];
});

const ownSources = Object.entries(assertionGrammar);
const text = `<!-- Generated by scripts/check-reference.mjs from the schemas of the API. -->

# Reference of checks

This page lists every check type, every field and every assertion, for people who write checks.
Each example is complete: it runs against a service on your own machine (\`location-agent dev\`).

${sections.join('\n')}
## Shared fields

Checks of every type have these fields.
A field that a type has in another form is listed in the section of that type.

${table(shared).join('\n')}

## Rules of SSL checks

The security baseline is judged after a handshake whose name and chain are right.
The grade is \`A-\` if all rules hold, \`B\` if a rule with severity \`degrade\` is violated, and \`F\` if one with \`fail\` is.
A violated rule with severity \`ignore\` changes nothing, and is shown.
The first certificate of the chain that expires counts for the expiry, and the result names it.

A revoked certificate always fails the run, and so does an expired one.
\`scan\` makes at most 12 more connections within 10 seconds.
They find versions and suites that this agent's own library no longer speaks.
If the connections or the time do not suffice, \`accepted.incomplete\` of the result gives the reason, and the run does not fail.

An authority's responder or list may take 5 seconds.
Answers above 64 kB (responder) and 20 MB (list) do not count.
Such a problem is in the result under \`revocation.answers\`; it does not fail the run, because the authority is not the target.

\`sctPresent\` sees timestamps in the certificate and in a stapled OCSP answer.
It does not see those that a server sends only as a TLS extension, because the TLS library does not show them.
A chain above 100 kB fails with \`TLS_ERROR\`, because the library reads no more.

## Calls of gRPC checks

A check of the mode \`HEALTH\` asks \`grpc.health.v1.Health\`, and fails if the answer is not \`SERVING\`.
A check of the mode \`BEHAVIOR\` calls a unary or a server-streaming method.
Its message is JSON, and so is the answer: field names in lowerCamelCase, 64-bit numbers as text, bytes in base64, enums by name.
Fields with their default value are absent in the answer.
The answer of a streaming method is a list of messages.

A status other than \`OK\` fails the run, unless an assertion has the source \`GRPC_STATUS_CODE\`.
In the same way, an assertion with \`GRPC_HEALTHCHECK_STATUS\` judges the health; its target is a number from 0 to 3.

Reflection is tried in version \`v1\`, then in \`v1alpha\`; its time does not count.
The text of a \`.proto\` file may import the files of \`google/protobuf\`; give a descriptor set for other imports:

\`\`\`sh
protoc --include_imports --descriptor_set_out=/dev/stdout shop.proto | base64 --wrap=0
\`\`\`

Values of sensitive metadata such as \`authorization\` are masked in results.
Store such a value as a secret variable, and use it in a template.

| reason                | seen when                                                                     |
| --------------------- | ----------------------------------------------------------------------------- |
| \`GRPC_STATUS\`         | the method answered with a status other than \`OK\`                           |
| \`GRPC_HEALTH\`         | the health service answered something other than \`SERVING\`                  |
| \`GRPC_DEFINITION\`     | the types, the method or the message do not fit the server, or are malformed  |
| \`HTTP_PROTOCOL_ERROR\` | the answer is not gRPC                                                        |
| \`HTTP_BODY_TOO_LARGE\` | a message is above \`maxMessageBytes\`, or the messages together above 32 MB  |
| \`TIMEOUT\`             | \`timeout\` passed; \`grpcStatusCode\` is then 4                              |

## Routes of TRACEROUTE checks

A trace sends probes that may pass only one router, then two, and so on.
Each router that drops a probe reports it, and becomes a hop of the result.
The check passes if the target itself answers: a handshake or a refusal by TCP, "port unreachable" by UDP, an echo by ICMP.
A trace by UDP therefore needs a port on which nothing listens.
Probes by SCTP are not supported.

TCP and UDP need no privileges; a trace by TCP needs Linux 5.8.
ICMP needs what ICMP checks need ([docker.md](docker.md)).

All probes of a trace have the same addresses and ports, and the next run uses them again.
Routers that spread their load by flow therefore send all of them along one route.
Echo requests have a constant checksum for the same reason; their id changes when the agent starts.

The agent first asks the target itself, to learn how long to wait for a silent hop: 0.25 to 1 second.
By TCP and UDP it sends one probe at a time, so a trace with many silent hops may need more than the default \`timeout\`.
Above five \`queries\`, it waits a second between rounds, because routers limit their answers.
A trace that ran out of time after the target answered has fewer probes for some hops.

\`truncationReason\` of the result shows why there are no further hops:

| truncationReason       | reason                    | meaning                                                      |
| ---------------------- | ------------------------- | ------------------------------------------------------------ |
| \`destinationReached\` |                           | the target answered                                          |
| \`maxHops\`            | \`DESTINATION_NOT_REACHED\` | the target is more than \`maxHops\` away                     |
| \`maxUnknownHops\`     | \`DESTINATION_NOT_REACHED\` | \`maxUnknownHops\` hops in a row were silent                 |
| \`unreachable\`        | \`EHOSTUNREACH\`, \`EACCES\` | a router refused to forward                                  |
| \`loop\`               | \`ROUTE_LOOP\`            | the same routers answered three times in the same order      |
| \`timeout\`            | \`TIMEOUT\`               | \`timeout\` passed                                           |

If a hop has other addresses than in the run before at the same location, the result has \`details.routeChange\`.
The page of the run shows both routes, and the timeline of the check has a mark of the kind \`route\`.
Silent hops count as unchanged.

\`AS_DATABASE\` of the agent names a file in MMDB format with the fields \`autonomous_system_number\` and
\`autonomous_system_organization\`.
Hops then have \`asn\` and \`asOrganization\`.
\`doctor\` tries the file with an example.
The agent reads the file at its start, and again within a minute after it was replaced.

## Assertions

An assertion compares one part of the answer with a target:

\`\`\`json
{ "source": "JSON_BODY", "property": "$.state", "comparison": "EQUALS", "target": "running" }
\`\`\`

The fields are the same for all types.

${table(
  all
    .get('API')
    .filter(({ path }) => path.startsWith('request.assertions[]'))
    .map((field) => ({ ...field, property: { ...field.property, enum: undefined } })),
).join('\n')}

### Sources

| source | check types | value | property |
| --- | --- | --- | --- |
${Object.keys(sourceMeanings)
  .map((source) => {
    const [value, property] = known(sourceMeanings, source);
    const users = ownSources.filter(([, { sources }]) => sources.includes(source)).map(([type]) => type);
    return `| ${code(source)} | ${users.join(', ')} | ${value} | ${property === '' ? 'not used' : property} |`;
  })
  .join('\n')}

### Comparisons

| comparison | holds if | check types |
| --- | --- | --- |
${comparisons
  .map((comparison) => {
    const users = ownSources
      .filter(([, grammar]) => grammar.comparisons.includes(comparison))
      .map(([type]) => type);
    return `| ${code(comparison)} | ${known(comparisonMeanings, comparison)} | ${users.join(', ')} |`;
  })
  .join('\n')}

### Comparisons of SSL checks

Each property of \`CERTIFICATE\` and \`CONNECTION\` accepts only some comparisons:

| source | property | comparisons |
| --- | --- | --- |
${Object.entries(sslProperties)
  .flatMap(([source, properties]) =>
    Object.entries(properties).map(
      ([property, accepted]) => `| ${code(source)} | ${code(property)} | ${accepted.map(code).join(', ')} |`,
    ),
  )
  .join('\n')}

### Comparisons of TRACEROUTE checks

\`HOP\` accepts \`CONTAINS\` and \`NOT_CONTAINS\`: the list has, or has not, an entry that equals the target.
\`HOP_COUNT\` and \`PACKET_LOSS\` accept \`EQUALS\`, \`GREATER_THAN\` and \`LESS_THAN\`.
\`RESPONSE_TIME\` also accepts \`NOT_EQUALS\`; it fails if the target did not answer.

### Several values, or none

If a JSONPath finds several values, the comparison must hold for each of them.
If nothing is found, \`IS_NULL\`, \`IS_EMPTY\` and all comparisons with \`NOT_\` except \`NOT_EMPTY\` and \`NOT_NULL\` hold.
`;
for (const [, { sources }] of ownSources) for (const source of sources) known(sourceMeanings, source);

const file = join(root, 'docs', 'checks.md');
const config = await resolveConfig(file);
const formatted = await format(text, { ...config, filepath: file });
const current = existsSync(file) ? readFileSync(file, 'utf8') : '';
if (formatted === current) {
  process.stderr.write('check-reference: docs/checks.md is up to date\n');
} else if (process.argv.includes('--check')) {
  process.stderr.write('check-reference: docs/checks.md is out of date; run `npm run check-reference`\n');
  process.exitCode = 1;
} else {
  writeFileSync(file, formatted);
  process.stderr.write('check-reference: wrote docs/checks.md\n');
}
