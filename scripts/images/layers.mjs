/** The layers of an image: what they weigh, and why they are there. */
import { spawnSync } from 'node:child_process';

/** By the instruction that made the layer; the first that fits counts. */
const purposes = [
  [/COPY \/out\/system /, 'Node, its libraries, tini, the health probe, certificate authorities'],
  [/COPY \/out\/packages /, 'npm packages of the agent'],
  [/COPY \/out\/program /, "the agent's modules, addon, helper for raw sockets"],
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
  [/COPY \/out \/ /, 'agent, service, addon, launcher, helper for raw sockets'],
  // A base image has no name here: its own instructions come last, the rest of it is smaller than a megabyte.
  [/ADD file:|debuerreotype|rootfs/, 'Debian'],
];

function docker(...args) {
  const done = spawnSync('docker', args, { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 });
  if (done.status !== 0)
    throw new Error(`docker ${args[0]}: ${(done.stderr || done.error?.message || '').trim()}`);
  return done.stdout.trim();
}

/** Newest first: `{bytes, command, purpose}`, purpose null where none is known; and the sum. Throws when docker does. */
export function layersOf(tag) {
  const lines = docker('history', '--no-trunc', '--human=false', '--format', '{{json .}}', tag).split('\n');
  const layers = lines.map((line) => {
    const { Size, CreatedBy } = JSON.parse(line);
    const command = CreatedBy.replace(/\s+/g, ' ');
    const purpose = purposes.find(([form]) => form.test(`${command} `))?.[1] ?? null;
    return { bytes: Number(Size), command: command.slice(0, 200), purpose };
  });
  // Unpacked: engines that keep images in containerd tell of the image what it weighs packed.
  const told = Number(docker('image', 'inspect', '--format', '{{.Size}}', tag));
  const unpacked = layers.reduce((sum, { bytes }) => sum + bytes, 0);
  return { layers, bytes: Math.max(told, unpacked) };
}
