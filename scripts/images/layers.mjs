/** The layers of an image with their size and purpose. */
import { spawnSync } from 'node:child_process';

/** Patterns for the instruction that made the layer; the first match counts. */
const purposes = [
  [/COPY \/out\/system /, 'Node, its libraries, tini, the health probe, certificate authorities'],
  [/COPY \/out\/packages /, 'npm packages of the agent'],
  [/COPY \/out\/program /, "the agent's modules, addon, raw-socket helper"],
  [/COPY \/headers\/out\/include /, "headers of the image's Node, for node-gyp"],
  [/apt-get install[^&]* g\+\+ /, 'compilers, make, Python, git'],
  [/cli\.js/, "Playwright's own builds of Chromium and ffmpeg"],
  [/chromium ffmpeg/, 'Chromium, ffmpeg (videos), fonts, tini, certificate authorities'],
  [/COPY \/out\/node /, 'Node of runtime 2026.04: for the agent, scripts and suites'],
  [/COPY \/out\/app\/runtimes /, 'packages of runtime 2026.04, which scripts run on'],
  [/COPY \/out\/runtimes /, 'older runtimes and their Nodes (migration image; empty in others)'],
  [/COPY \/out\/app\/engines /, 'npm, pnpm and yarn, for suites'],
  [/COPY \/app\/node_modules /, 'npm packages of agent and service (S3 client, embedded PostgreSQL)'],
  [/COPY .*health-probe /, 'the health probe'],
  [/COPY \/out \/ /, 'agent, service, addon, launcher, raw-socket helper'],
  // The history does not name base images. Their instructions come last, and the rest of them is smaller than a megabyte.
  [/ADD file:|debuerreotype|rootfs/, 'Debian'],
];

function docker(...args) {
  const done = spawnSync('docker', args, { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 });
  if (done.status !== 0)
    throw new Error(`docker ${args[0]}: ${(done.stderr || done.error?.message || '').trim()}`);
  return done.stdout.trim();
}

/** Returns the layers, newest first, as `{bytes, command, purpose}` (purpose null if unknown), and their sum. Throws if docker fails. */
export function layersOf(tag) {
  const lines = docker('history', '--no-trunc', '--human=false', '--format', '{{json .}}', tag).split('\n');
  const layers = lines.map((line) => {
    const { Size, CreatedBy } = JSON.parse(line);
    const command = CreatedBy.replace(/\s+/g, ' ');
    const purpose = purposes.find(([form]) => form.test(`${command} `))?.[1] ?? null;
    return { bytes: Number(Size), command: command.slice(0, 200), purpose };
  });
  // The unpacked size, because engines that store images in containerd report the packed size.
  const reported = Number(docker('image', 'inspect', '--format', '{{.Size}}', tag));
  const unpacked = layers.reduce((sum, { bytes }) => sum + bytes, 0);
  return { layers, bytes: Math.max(reported, unpacked) };
}
