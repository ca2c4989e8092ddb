import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shortened } from '../../src/shortened.ts';

/**
 * All cuts of text are made by `shortened`, which marks them: the scrubber masks the beginning of a secret before a
 * mark. Other places may take the start of a list, an id or a name. Each file that does has its number and its reason
 * here.
 */
const allowed: { readonly [file: string]: readonly [count: number, reason: string] } = {
  'agent/claiming/poller.ts': [1, 'lists, or a known ending'],
  'agent/own-network/compare.ts': [2, 'lists, or a known ending'],
  'agent/own-network/memory.ts': [2, 'lists, or a known ending'],
  'agent/own-network/failures.ts': [1, 'texts that are only searched'],
  'agent/own-network/own-network.ts': [1, 'lists, or a known ending'],
  'agent/own-network/rules.ts': [2, 'lists, or a known ending'],
  'agent/own-network/examination.ts': [3, 'lists, or a known ending'],
  'agent/artifacts/adoption.ts': [1, 'names, already scrubbed'],
  'agent/artifacts/names.ts': [2, 'names, already scrubbed'],
  'agent/artifacts/states.ts': [1, 'lists, or a known ending'],
  'agent/folders/work-dir.ts': [1, "the agent's own id"],
  'agent/job-types/shorten-suite.ts': [2, 'lists, or a known ending'],
  'agent/keeping/going-runs.ts': [1, 'a list of runs'],
  'agent/keeping/ledger.ts': [1, 'a random id'],
  'agent/keeping/packed.ts': [1, 'the last brace of a JSON text'],
  'agent/link/proxy-choice.ts': [1, 'lists, or a known ending'],
  'agent/link/session.ts': [1, 'the host name'],
  'agent/load/cgroup.ts': [1, 'lists, or a known ending'],
  'agent/metrics/condition.ts': [1, 'lists, or a known ending'],
  'agent/probe/address.ts': [2, 'lists, or a known ending'],
  'agent/probe/certificates.ts': [2, 'names of fields'],
  'agent/probe/cel/expression.ts': [1, 'the operator’s own file'],
  'agent/probe/patterns/patterns.ts': [1, 'the operator’s own file'],
  'agent/outbox/aside.ts': [1, "the agent's own id"],
  'agent/outbox/outbox.ts': [1, 'lists'],
  'agent/outbox/segment-file.ts': [1, "the agent's own id"],
  'agent/run/attempt-once.ts': [1, 'names of stages, which are fixed words'],
  'agent/run/detect-secrets.ts': [2, 'texts that are only searched'],
  'agent/run/renewals.ts': [1, 'a list'],
  'agent/run/result.ts': [3, 'lists, or a known ending'],
  'agent/run/run-job.ts': [1, 'ids of a job that the agent cannot read'],
  'executors/assertions/text.ts': [2, 'the text is marked afterwards'],
  'executors/check-script.ts': [1, 'lists, or a known ending'],
  'executors/dns/query-name.ts': [2, 'lists, or a known ending'],
  'executors/dns/servers.ts': [2, 'lists, or a known ending'],
  'executors/dns/text.ts': [2, 'a date; lists'],
  'executors/evidence/capture-filter.ts': [1, 'lists, or a known ending'],
  'executors/evidence/hop-names.ts': [1, 'lists, or a known ending'],
  'executors/evidence/trace-hops.ts': [1, 'lists, or a known ending'],
  'executors/evidence/traceroute.ts': [1, 'lists, or a known ending'],
  'executors/http/connection.ts': [1, 'lists, or a known ending'],
  'executors/http/outcome.ts': [2, 'lists, or a known ending'],
  'executors/http/proxy.ts': [1, 'lists, or a known ending'],
  'executors/http/redirects.ts': [1, 'lists, or a known ending'],
  'executors/http/tls.ts': [1, 'lists, or a known ending'],
  'executors/grpc.ts': [3, 'lists'],
  'executors/grpc/definition.ts': [1, 'lists'],
  'executors/grpc/schema.ts': [1, 'a part of a name'],
  'executors/playwright.ts': [1, 'lists, or a known ending'],
  'executors/resolve/resolv-conf.ts': [1, 'lists, or a known ending'],
  'executors/resolve/stub.ts': [2, 'lists, or a known ending'],
  'executors/ssl/certificate.ts': [3, 'lists; the number of a certificate'],
  'executors/ssl/judge.ts': [3, 'dates; lists'],
  'executors/ssl/ocsp.ts': [1, 'lists, or a known ending'],
  'executors/ssl/trust.ts': [1, 'lists, or a known ending'],
  'executors/system-network.ts': [1, 'lists, or a known ending'],
  'executors/traceroute/trace.ts': [1, 'lists'],
  'script/child/api/main.ts': [1, 'the name of a variable'],
  'script/child/capture/calls.ts': [1, 'lists, or a known ending'],
  'script/child/capture/page-visits.ts': [1, 'ids'],
  'script/child/capture/pages.ts': [1, 'lists, or a known ending'],
  'script/child/capture/text.ts': [2, 'the text is marked afterwards'],
  'script/child/playwright/deferred.ts': [1, 'lists, or a known ending'],
  'script/child/playwright/reporter.ts': [3, 'names of files; lists'],
  'script/child/sensitive-headers.ts': [2, 'lists, or a known ending'],
  'script/child/shortened.ts': [1, 'the one function'],
  'script/child/suite/reporter.ts': [10, 'paths and content types; lists'],
  'script/playwright/browsers.ts': [1, 'a digest'],
  'script/playwright/capture.ts': [3, 'lists, or a known ending'],
  'script/playwright/files.ts': [1, 'lists, or a known ending'],
  'script/playwright/follow.ts': [1, 'the name of a signal'],
  'script/playwright/report.ts': [2, 'lists, or a known ending'],
  'script/process/reach.ts': [1, 'lists, or a known ending'],
  'script/process/script-network.ts': [1, 'lists, or a known ending'],
  'script/process/unchecked.ts': [2, 'lists, or a known ending'],
  'script/suite/browsers/wanted.ts': [1, 'lists, or a known ending'],
  'script/suite/bundle/files.ts': [1, 'lists, or a known ending'],
  'script/suite/bundle/ignore-rules.ts': [3, 'lists, or a known ending'],
  'script/suite/bundle/pack.ts': [4, 'lists, or a known ending'],
  'script/suite/bundle/paths.ts': [1, 'lists, or a known ending'],
  'script/suite/command.ts': [1, 'lists, or a known ending'],
  'script/suite/config-search.ts': [1, 'lists, or a known ending'],
  'script/suite/install/dependency-tree.ts': [1, 'output of npm ls, of which only a code is read'],
  'script/suite/install/engines.ts': [3, 'a digest; lists'],
  'script/suite/install/package-manager.ts': [2, 'lists, or a known ending'],
  'script/suite/install/registry-settings.ts': [1, 'a file that is only parsed'],
  'script/suite/report/file-names.ts': [2, 'names without their ending'],
  'script/suite/report/files.ts': [2, 'lists, or a known ending'],
  'script/suite/report/json.ts': [1, 'lists, or a known ending'],
  'script/suite/report/lines.ts': [2, 'ids; lists'],
  'script/suite/report/marks.ts': [1, 'ids; lists'],
  'script/suite/report/report.ts': [1, 'lists, or a known ending'],
  'script/suite/report/verdict.ts': [1, 'lists, or a known ending'],
  'secrets/files/scrub-embedded.ts': [1, 'base64 that is decoded'],
  'secrets/files/scrub-json-tree.ts': [1, 'lists, or a known ending'],
  'secrets/forms/dumps.ts': [1, 'forms of secrets'],
  'secrets/forms/parts.ts': [1, 'lists, or a known ending'],
  'secrets/scrubber/cache.ts': [1, 'lists, or a known ending'],
};

const src = join(import.meta.dirname, '..', '..', 'src');
const cut = /\.(?:slice|substring|substr)\(0, ?/g;

test('no other function cuts a text', () => {
  const found: { [file: string]: number } = {};
  for (const part of ['agent', 'script', 'executors', 'secrets']) {
    for (const name of readdirSync(join(src, part), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts')) continue;
      const count = readFileSync(join(src, part, name), 'utf8').match(cut)?.length ?? 0;
      if (count > 0) found[`${part}/${name}`] = count;
    }
  }
  const expected = Object.fromEntries(Object.entries(allowed).map(([file, [count]]) => [file, count]));
  expect(found, 'cut texts with `shortened`, or explain here what is cut').toEqual(expected);
});

test('children have the same functions: they cannot read files outside of their folder', () => {
  for (const name of ['shortened.ts', 'sensitive-headers.ts']) {
    expect(readFileSync(join(src, 'script', 'child', name), 'utf8')).toBe(
      readFileSync(join(src, name), 'utf8'),
    );
  }
});

test('a cut is marked, and splits no character', () => {
  expect(shortened('walnut', 6)).toBe('walnut');
  expect(shortened('walnut', 5)).toBe('walnu…');
  expect(shortened('a\u{1f511}b', 2)).toBe('a…');
  expect(shortened('walnut', 0)).toBe('…');
});
