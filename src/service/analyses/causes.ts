import type { ReasonCode } from '../../protocol/reasons.ts';

/**
 * Causes and remedies by reason code. Codes of the class `ours` and unknown codes have rules of their own in
 * builtin.ts.
 */

export type Cause = {
  classification: string;
  /** The cause, as one sentence. */
  cause: string;
  /** The remedy, as one sentence. Null = nothing to change in the check or its script. */
  fix: string | null;
  links: readonly { url: string; title: string }[];
};

const rfc = (section: string, title: string) => ({
  url: `https://www.rfc-editor.org/rfc/${section}`,
  title,
});
const tls = [rfc('rfc8446', 'RFC 8446: TLS 1.3')];
const certificates = [rfc('rfc5280', 'RFC 5280: certificates of the internet')];
const names = [rfc('rfc1035', 'RFC 1035: domain names')];
const http = [rfc('rfc9110', 'RFC 9110: HTTP')];
const traces = [{ url: 'https://playwright.dev/docs/trace-viewer', title: 'Playwright: trace viewer' }];

const network = (cause: string, links: Cause['links'] = []): Cause => ({
  classification: 'INFRASTRUCTURE_ERROR',
  cause,
  fix: null,
  links,
});
const settings = (cause: string, fix: string, links: Cause['links'] = []): Cause => ({
  classification: 'CONFIGURATION_ERROR',
  cause,
  fix,
  links,
});
const script = (cause: string, fix: string, links: Cause['links'] = []): Cause => ({
  classification: 'SCRIPT_ERROR',
  cause,
  fix,
  links,
});

const noName = network(
  "The target's name cannot be resolved: its DNS record or its name server is gone.",
  names,
);
const cut = network('The target, or a device in front of it, closes connections before it has answered.');
const noWay = network("There is no route to the target's address: a router, a host or a link is down.");
const untrusted = settings(
  "The target's certificate is signed by an authority that the location does not trust, or its chain is incomplete.",
  "Configure the target to send its intermediate certificates, or add the authority to the trust store of the location's agents.",
  certificates,
);

/** Rules by code. Rules that need more than the code (statuses, phases, assertions) are in builtin.ts. */
export const causes: { readonly [code in ReasonCode]?: Cause } = {
  ENOTFOUND: noName,
  EAI_AGAIN: network("The location's name servers did not answer: DNS is down there.", names),
  DNS_RCODE: network('The name server answered with an error instead of a record.', names),
  DNS_MALFORMED: network("The name server's answer is not valid.", names),
  ECONNREFUSED: network(
    "Nothing listens on the target's address and port, or a firewall rejects the connection: the server is stopped, restarting or listens elsewhere.",
  ),
  ECONNRESET: cut,
  ECONNABORTED: cut,
  EPIPE: cut,
  CONNECTION_CLOSED: cut,
  HTTP_BODY_INCOMPLETE: cut,
  EHOSTUNREACH: noWay,
  EHOSTDOWN: noWay,
  ENETUNREACH: noWay,
  PACKET_LOSS: network(
    'Packets to the target are lost: a link is overloaded or down, or the host does not answer pings.',
  ),
  EACCES: network("The agent's host may not send to this address: a firewall or a policy forbids it."),
  PROXY_FAILED: network("The location's proxy did not connect to the target."),
  CERT_HAS_EXPIRED: settings(
    "The target's certificate has expired.",
    'Renew the certificate and reload it on the server.',
    certificates,
  ),
  CERT_NOT_YET_VALID: settings(
    "The target's certificate is not valid yet: it was installed too early, or a clock is wrong.",
    'Install a certificate that is valid now, and check the clocks of both hosts.',
    certificates,
  ),
  CERT_REVOKED: settings("The target's certificate was revoked.", 'Request a new certificate.', certificates),
  CERT_UNTRUSTED: untrusted,
  CERT_REJECTED: untrusted,
  INVALID_CA: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  ERR_TLS_CERT_ALTNAME_INVALID: settings(
    "The target's certificate does not contain the requested name: another site answers, or the name is missing in it.",
    'Add the name to the certificate, or use a name that the certificate contains.',
    certificates,
  ),
  CERT_EXPIRES_SOON: settings(
    "A certificate of the target's chain expires soon.",
    'Renew the certificate, and find out why its automatic renewal has not happened.',
    certificates,
  ),
  GRPC_STATUS: settings(
    'The method answered with a status that means failure.',
    'Look at the status, its message and the log of the server.',
  ),
  GRPC_HEALTH: settings(
    'The health service says that the server, or the service, does not serve.',
    'Find out why the server reports itself as not ready.',
  ),
  GRPC_DEFINITION: settings(
    "The check's method, message or types do not fit the server.",
    'Compare the definition in the check with the version that the server runs.',
  ),
  DESTINATION_NOT_REACHED: network(
    'The route to the target ends before it: a router or a firewall drops the probes, or the target is down.',
  ),
  ROUTE_LOOP: network(
    'Routers send packets for the target to each other in a circle: a route of one of them is wrong.',
  ),
  TLS_BASELINE: settings(
    "The target's TLS settings violate a rule of the check's security baseline.",
    'Change the server as the message says, or the severity of the rule in the check.',
    certificates,
  ),
  TLS_ERROR: network(
    'The TLS handshake with the target failed: both sides have no version or cipher in common, or the port does not use TLS.',
    tls,
  ),
  HTTP_PROTOCOL_ERROR: {
    ...network("The target's response is not valid HTTP.", http),
    classification: 'APPLICATION_ERROR',
  },
  HTTP_DECODING_FAILED: {
    ...network('The response body does not have the encoding that its headers name.', http),
    classification: 'APPLICATION_ERROR',
  },
  TOO_MANY_REDIRECTS: settings(
    'The target redirects too many times.',
    'Examine its redirect rules: they may form a loop.',
    http,
  ),
  INVALID_REDIRECT: settings(
    'The target redirects to an invalid URL.',
    "Correct the target's location header.",
    http,
  ),
  INVALID_URL: settings("The check's URL is not valid.", "Correct the check's URL and the variables in it."),
  INVALID_REQUEST: settings(
    "The check's request is not valid and cannot be sent.",
    'Correct its headers, body and variables.',
  ),
  TEMPLATE_INVALID: settings(
    "A variable or a template in the check's request cannot be resolved.",
    'Define the variable or correct its name.',
  ),
  CLIENT_CERTIFICATE_INVALID: settings(
    "The check's client certificate cannot be used.",
    'Upload the certificate, its key and passphrase again.',
  ),
  SHOULD_HAVE_FAILED: {
    classification: 'APPLICATION_ERROR',
    cause: 'The target accepted a request that it should refuse.',
    fix: 'Examine its access protection: it may be open to unauthorised clients.',
    links: [],
  },
  HEARTBEAT_MISSED: {
    classification: 'APPLICATION_ERROR',
    cause:
      'The monitored job did not call its ping URL in time: it did not run, did not finish, or could not reach the service.',
    fix: "Read the job's log, and check that its host can reach the ping URL.",
    links: [],
  },
  SCRIPT_THREW: script(
    "The check's script threw an error.",
    'Correct the script at the line that the error names.',
  ),
  SCRIPT_INVALID: script(
    "The check's script cannot be run: its syntax, its tests or its packages are not valid.",
    'Correct the script as the error describes.',
  ),
  SCRIPT_TIMEOUT: script(
    "The check's script did not finish in time: it waits for something that does not happen.",
    'Open the trace and find the step that did not finish.',
    traces,
  ),
  SCRIPT_KILLED: script(
    "The check's script exceeded a limit of memory, CPU time, output, disk or secrets.",
    'Change the script so that it does less at once.',
  ),
  BUNDLE_INVALID: settings("The suite's code bundle cannot be used.", 'Pack and upload the bundle again.'),
  INSTALL_FAILED: settings(
    'The packages of the suite could not be installed.',
    'Read the installation log: a package or a registry is not available.',
  ),
};
