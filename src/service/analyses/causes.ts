import type { ReasonCode } from '../../protocol/reasons.ts';

/** What reason codes mean to who has to mend it. `ours` and unknown codes have rules of their own in builtin.ts. */

export type Cause = {
  classification: string;
  /** A sentence. */
  cause: string;
  /** What to do; a sentence. Null = nothing in the check or its script. */
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
  'The name of the target can not be resolved: its record is gone or its name server is.',
  names,
);
const cut = network('The target, or something before it, ends connections before it has answered.');
const noWay = network(
  'There is no way to the address of the target: a route, a host or a link on it is down.',
);
const untrusted = settings(
  'The certificate of the target is signed by an authority that the location does not know, or its chain is not complete.',
  'Have the target send its intermediate certificates, or make the authority known to the agents of the location.',
  certificates,
);

/** By code; what a table can not say alone (statuses, phases, assertions) is in builtin.ts. */
export const causes: { readonly [code in ReasonCode]?: Cause } = {
  ENOTFOUND: noName,
  EAI_AGAIN: network(
    'The name servers of the location did not answer: name resolution itself is down there.',
    names,
  ),
  DNS_RCODE: network('The name server answered with an error instead of a record.', names),
  DNS_MALFORMED: network('The answer of the name server is not valid.', names),
  ECONNREFUSED: network(
    'Nothing listens at the address and port of the target, or a firewall rejects the connection: the service is stopped, restarting or listens elsewhere.',
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
    'Packets on the way to the target are lost: a link is overloaded or down, or the host does not answer pings.',
  ),
  EACCES: network('The host of the agent may not send to this address: a firewall or a policy forbids it.'),
  PROXY_FAILED: network('The proxy of the location did not connect to the target.'),
  CERT_HAS_EXPIRED: settings(
    'The certificate of the target has expired.',
    'Renew the certificate and have the server load it.',
    certificates,
  ),
  CERT_NOT_YET_VALID: settings(
    'The certificate of the target is not valid yet: it was installed too early, or a clock is wrong.',
    'Install a certificate that is valid now, and look at the clocks of both hosts.',
    certificates,
  ),
  CERT_REVOKED: settings(
    'The certificate of the target was revoked.',
    'Have a new certificate issued.',
    certificates,
  ),
  CERT_UNTRUSTED: untrusted,
  CERT_REJECTED: untrusted,
  INVALID_CA: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  ERR_TLS_CERT_ALTNAME_INVALID: settings(
    'The certificate of the target is for other names than the one that was called: another site answers, or a name is missing in it.',
    'Have the name added to the certificate, or call the target by a name that it has.',
    certificates,
  ),
  TLS_ERROR: network(
    'The TLS handshake with the target failed: both sides have no version or cipher in common, or the target does not speak TLS there.',
    tls,
  ),
  HTTP_PROTOCOL_ERROR: {
    ...network('What the target answers is not valid HTTP.', http),
    classification: 'APPLICATION_ERROR',
  },
  HTTP_DECODING_FAILED: {
    ...network('The body of the response is not in the encoding that its headers name.', http),
    classification: 'APPLICATION_ERROR',
  },
  TOO_MANY_REDIRECTS: settings(
    'The target redirects again and again.',
    'Look at the rules of its redirects: two of them lead to each other.',
    http,
  ),
  INVALID_REDIRECT: settings(
    'The target redirects to what is no URL.',
    'Correct the location header that it sends.',
    http,
  ),
  INVALID_URL: settings(
    'The URL of the check is not valid.',
    'Correct the URL of the check, and the variables in it.',
  ),
  INVALID_REQUEST: settings(
    'The request of the check can not be sent as it is.',
    'Correct its headers, body and variables.',
  ),
  TEMPLATE_INVALID: settings(
    'A variable or a template in the request of the check can not be filled in.',
    'Define the variable, or correct its name.',
  ),
  CLIENT_CERTIFICATE_INVALID: settings(
    'The client certificate of the check can not be used.',
    'Upload the certificate, its key and passphrase anew.',
  ),
  SHOULD_HAVE_FAILED: {
    classification: 'APPLICATION_ERROR',
    cause: 'The target answered a request that it should refuse.',
    fix: 'Look at what protects it: it may be reachable for those who must not reach it.',
    links: [],
  },
  HEARTBEAT_MISSED: {
    classification: 'APPLICATION_ERROR',
    cause:
      'The job that is watched did not call its ping URL in time: it did not run, did not end, or could not reach the service.',
    fix: 'Look at the log of the job, and whether its host reaches the ping URL.',
    links: [],
  },
  SCRIPT_THREW: script(
    'The script of the check threw an error of its own.',
    'Correct the script at the line that its error names.',
  ),
  SCRIPT_INVALID: script(
    'The script of the check can not be run: its syntax, its tests or its packages are not valid.',
    'Correct the script as the error says.',
  ),
  SCRIPT_TIMEOUT: script(
    'The script of the check did not end in its time: it waits for something that does not come.',
    'Look in the trace for the step that did not end.',
    traces,
  ),
  SCRIPT_KILLED: script(
    'The script of the check took more memory, processor time, output or disk than it may.',
    'Have the script do less at once.',
  ),
  BUNDLE_INVALID: settings(
    'The code bundle of the suite can not be used.',
    'Pack and upload the bundle anew.',
  ),
  INSTALL_FAILED: settings(
    'The packages of the suite could not be installed.',
    'Look at the log of the install: a package or a registry can not be had.',
  ),
};
