/** The sentences of the reference of checks that no schema has: what each type does, notes on its example, and its rules. */

/** Title of each type's page, and what a check of the type does. */
export const types = {
  URL: {
    title: 'URL checks',
    does: 'sends a GET request, and passes if the status of the answer is below 400',
  },
  API: {
    title: 'API checks',
    does: 'sends an HTTP request with headers, body, variables and scripts, and compares the answer with assertions',
  },
  TCP: {
    title: 'TCP checks',
    does: 'connects to a port, and can send data and compare the response',
  },
  DNS: {
    title: 'DNS checks',
    does: 'resolves a name over UDP, TCP, TLS (`DOT`) or HTTPS (`DOH`), and compares the answer with assertions',
  },
  ICMP: {
    title: 'ICMP checks',
    does: 'sends echo requests to a host, with thresholds for packet loss',
  },
  SSL: {
    title: 'SSL checks',
    does: 'judges the certificates, TLS versions and suites of a server, also after STARTTLS',
  },
  GRPC: {
    title: 'gRPC checks',
    does: 'calls a gRPC method, or asks the health service',
  },
  TRACEROUTE: {
    title: 'Traceroute checks',
    does: 'finds the route to a host by TCP, UDP or ICMP, with hops, loss and times',
  },
  BROWSER: {
    title: 'Browser checks',
    does: 'runs a Playwright script in Chromium, with tests, steps, web vitals, trace, video and screenshots',
  },
  MULTI_STEP: {
    title: 'Multi-step checks',
    does: 'runs a Playwright script that calls APIs in steps',
  },
  PLAYWRIGHT: {
    title: 'Checks of Playwright projects',
    does: 'runs your own Playwright project, unmodified',
  },
  HEARTBEAT: {
    title: 'Heartbeat checks',
    does: 'waits for one of your jobs to call a URL in time',
  },
  AGENTIC: {
    title: 'Agentic checks',
    does: 'gives a prompt to a language model, which carries it out with a browser',
  },
};

/** What a reader needs to know about a type's example. */
export const notes = {
  DNS: 'The port is that of the sample name server of `location-agent dev`; `GET /v1/checks` shows it.',
  SSL: 'The port is that of a sample target of `location-agent dev`, with a private authority; `GET /v1/checks` shows it.',
  GRPC: 'The port is that of a sample target of `location-agent dev`, which speaks without TLS; `GET /v1/checks` shows it.',
  BROWSER:
    '[scripts-in-the-service.md](../scripts-in-the-service.md) describes what a script can use, and its result.',
  MULTI_STEP:
    '[scripts-in-the-service.md](../scripts-in-the-service.md) describes what a script can use, and its result.',
  PLAYWRIGHT:
    '`$BUNDLE_KEY` is the key that `location-agent bundle` prints for a Playwright project ([suites-in-the-service.md](../suites-in-the-service.md)).',
  HEARTBEAT: 'The answer contains the URL that your job calls ([heartbeats.md](../heartbeats.md)).',
  AGENTIC: 'The service needs a language model for it ([agentic.md](../agentic.md)).',
};

/** Sections after the fields of a type. */
export const rules = {
  SSL: `## Rules of SSL checks

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
`,
  GRPC: `## Calls of gRPC checks

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
`,
  TRACEROUTE: `## Routes of TRACEROUTE checks

A trace sends probes that may pass only one router, then two, and so on.
Each router that drops a probe reports it, and becomes a hop of the result.
The check passes if the target itself answers: a handshake or a refusal by TCP, "port unreachable" by UDP, an echo by ICMP.
A trace by UDP therefore needs a port on which nothing listens.
Probes by SCTP are not supported.

TCP and UDP need no privileges; a trace by TCP needs Linux 5.8.
ICMP needs what ICMP checks need ([docker.md](../docker.md)).

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
It exits with code 78 if it cannot use the file at its start; later, it keeps what it has read.

## Comparisons of TRACEROUTE checks

\`HOP\` accepts \`CONTAINS\` and \`NOT_CONTAINS\`: the list has, or has not, an entry that equals the target.
\`HOP_COUNT\` and \`PACKET_LOSS\` accept \`EQUALS\`, \`GREATER_THAN\` and \`LESS_THAN\`.
\`RESPONSE_TIME\` also accepts \`NOT_EQUALS\`; it fails if the target did not answer.
`,
};

/** The last section of the page of assertions. */
export const severalValues = `## Several values, or none

If a JSONPath finds several values, the comparison must hold for each of them.
If nothing is found, \`IS_NULL\`, \`IS_EMPTY\` and all comparisons with \`NOT_\` except \`NOT_EMPTY\` and \`NOT_NULL\` hold.
`;
