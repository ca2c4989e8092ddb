/** Provenance of a release: an unsigned in-toto statement with SLSA's predicate (v1). */

/**
 * Returns the statement. `subjects`: `{name, sha256}` of each released file or image; `source`: `{uri, commit, dirty}`; `materials`
 * and `byproducts` have the form of `subjects`; times are ISO.
 */
export function provenance({ subjects, source, materials, byproducts, version, builder, times }) {
  const described = ({ name, sha256 }) => ({ name, digest: { sha256 } });
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects.map(described),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:private-location-agent:release:1',
        externalParameters: { version, source: source.uri },
        internalParameters: {
          node: process.version,
          platform: `${process.platform}-${process.arch}`,
          uncommitted: source.dirty,
        },
        resolvedDependencies: [
          { uri: source.uri, digest: { gitCommit: source.commit } },
          ...materials.map(described),
        ],
      },
      runDetails: {
        builder: { id: builder.id },
        metadata: { invocationId: builder.invocation, startedOn: times.started, finishedOn: times.finished },
        byproducts: byproducts.map(described),
      },
    },
  };
}

/** The URL of a git remote without credentials; null for a local folder. */
export function publicRemote(remote) {
  const ssh = /^(?:[^@/\s]+@)([^:/\s]+):(.+)$/.exec(remote);
  const address = ssh === null ? remote : `ssh://${ssh[1]}/${ssh[2]}`;
  if (!URL.canParse(address)) return null;
  const url = new URL(address);
  if (!['https:', 'http:', 'ssh:', 'git:'].includes(url.protocol)) return null;
  url.username = '';
  url.password = '';
  url.search = '';
  url.hash = '';
  return `git+${url.href}`;
}

/** The builder: a CI job, identified by its environment, or a local machine. */
export function builderOf(env) {
  const { GITHUB_SERVER_URL: server, GITHUB_WORKFLOW_REF: workflow, GITHUB_REPOSITORY: repository } = env;
  if (server === undefined || workflow === undefined) {
    return { id: 'urn:private-location-agent:builder:local', invocation: 'local' };
  }
  return {
    id: `${server}/${workflow}`,
    invocation: `${server}/${repository}/actions/runs/${env.GITHUB_RUN_ID}/attempts/${env.GITHUB_RUN_ATTEMPT}`,
  };
}

/** The web page of a source, for the labels of images; empty if it has none. */
export function webPage(uri) {
  const address = uri.replace(/^git\+/, '').replace(/\.git$/, '');
  return address.startsWith('https://') ? address : '';
}
