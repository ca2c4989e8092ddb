/** The images of a release, for amd64 and arm64, and the buildx commands that build and push them. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const platforms = 'linux/amd64,linux/arm64';

/**
 * Each image with its Dockerfile, the suffix of the repository name, its tag and its build arguments. `onFull`: the image is built
 * on the pushed first image.
 */
export const images = [
  { file: 'Dockerfile', suffix: '', tag: (version) => version, args: {} },
  { file: 'Dockerfile.uptime', suffix: '-uptime', tag: (version) => version, args: {} },
  { file: 'Dockerfile.dev', suffix: '-dev', tag: (version) => version, args: {}, onFull: true },
  {
    file: 'Dockerfile',
    suffix: '',
    tag: (version) => `${version}-migrate-202409-202604`,
    args: { RUNTIMES: '2024.09 2025.04 2026.04' },
  },
];

/** The docker arguments for one image. Its bill of materials and provenance are attached as attestations. */
export function buildxArguments(image, { repository, version, commit, time, source, push, metadataFile }) {
  const name = `${repository}${image.suffix}:${image.tag(version)}`;
  // The service of this image shows the name to those who start agents.
  const ownName = image.file === 'Dockerfile' ? { AGENT_IMAGE: `${repository}:${version}` } : {};
  const base = image.onFull === true ? { BASE: `${repository}:${version}` } : {};
  const labels = {
    VERSION: version,
    REVISION: commit,
    CREATED: time,
    SOURCE: source,
    ...base,
    ...ownName,
    ...image.args,
  };
  return {
    name,
    args: [
      'buildx',
      'build',
      '--platform',
      platforms,
      '--file',
      image.file,
      '--tag',
      name,
      ...Object.entries(labels).flatMap(([label, value]) => ['--build-arg', `${label}=${value}`]),
      '--provenance=mode=max',
      '--sbom=true',
      '--metadata-file',
      metadataFile,
      ...(push ? ['--push'] : []),
      '.',
    ],
  };
}

/**
 * Builds all images and, with `push`, publishes them. Returns `{name, sha256}` of each. The error names the image that failed.
 */
export function buildImages(root, folder, options) {
  const possible = images.filter(({ onFull }) => options.push || onFull !== true);
  if (possible.length < images.length) {
    process.stderr.write(
      'release: skipped Dockerfile.dev, because it is built on the pushed image; use --push\n',
    );
  }
  return possible.map((image, index) => {
    const metadataFile = join(folder, `.image-${index}.json`);
    const { name, args } = buildxArguments(image, { ...options, metadataFile });
    process.stderr.write(`release: docker ${args.join(' ')}\n`);
    const done = spawnSync('docker', args, { cwd: root, stdio: 'inherit' });
    if (done.status !== 0)
      throw new Error(`building ${name} failed (${done.error?.message ?? `exit code ${done.status}`})`);
    const digest = JSON.parse(readFileSync(metadataFile, 'utf8'))['containerimage.digest'];
    return { name, sha256: String(digest).replace(/^sha256:/, '') };
  });
}
