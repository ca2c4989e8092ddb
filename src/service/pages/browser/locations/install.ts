/** The lines that start an agent with a key; see docs/docker.md and docs/kubernetes.md. */

export type Installing = {
  /** Of the service. */
  readonly origin: string;
  readonly key: string;
  readonly slug: string;
  /** With its registry and tag. */
  readonly image: string;
};

const keyFile = ({ key }: Installing) =>
  `printf '%s\\n' '${key}' | sudo install -m 0400 -o 10001 -g 10001 /dev/stdin location-key`;

/** One container. */
export const dockerRun = (to: Installing): string =>
  [
    keyFile(to),
    [
      'docker run -d --name agent --restart unless-stopped',
      '--read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges',
      `-e SERVICE_URL=${to.origin}`,
      '-e API_KEY_FILE=/run/secrets/location-key -v "$PWD/location-key:/run/secrets/location-key:ro"',
      '-v agent-data:/var/lib/location-agent --stop-timeout 330',
      to.image,
    ].join(' \\\n  '),
    'docker exec agent location-agent doctor',
  ].join('\n');

/** A file for Docker Compose, and the line that makes its secret. */
export const composeFile = (to: Installing): string => `# first: ${keyFile(to)}
services:
  agent:
    image: ${to.image}
    restart: unless-stopped
    read_only: true
    tmpfs: [/tmp]
    cap_drop: [ALL]
    security_opt: ['no-new-privileges:true']
    stop_grace_period: 330s
    environment:
      SERVICE_URL: ${to.origin}
      API_KEY_FILE: /run/secrets/location-key
    secrets: [location-key]
    volumes: ['agent-data:/var/lib/location-agent']
secrets:
  location-key: { file: ./location-key }
volumes:
  agent-data:
`;

/** The values of the chart for an image; a colon before a slash belongs to the registry's port. */
function imageValues(image: string): string {
  const [, repository = image, mark, version = ''] = /^(.*?)(?:(@|:(?=[^/]*$))(.*))?$/.exec(image) ?? [];
  const rest = mark === undefined ? '' : ` --set image.${mark === '@' ? 'digest' : 'tag'}=${version}`;
  return `--set image.repository=${repository}${rest}`;
}

/** The chart of the repository, with the key in a Secret. */
export const helmLines = (to: Installing): string =>
  [
    'kubectl create namespace monitoring',
    `kubectl -n monitoring create secret generic location-key --from-literal=api-key='${to.key}'`,
    [
      `helm install ${to.slug.toLowerCase().replaceAll(/^-+|-+$/g, '') || 'agents'} charts/agent --namespace monitoring`,
      `--set serviceUrl=${to.origin} --set apiKey.existingSecret=location-key`,
      imageValues(to.image),
    ].join(' \\\n  '),
  ].join('\n');
