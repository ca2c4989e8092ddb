import type { Manifest, Success } from './renderer.ts';

/** Ways into rendered manifests. */

export type Container = {
  image: string;
  env: { name: string; value?: string; valueFrom?: unknown }[];
  ports: { name: string; containerPort: number }[];
  securityContext: { allowPrivilegeEscalation: boolean; capabilities: { add?: string[]; drop?: string[] } };
  volumeMounts: { name: string; mountPath: string }[];
  [probe: string]: unknown;
};
export type PodSpec = {
  containers: [Container];
  volumes: { name: string; [kind: string]: unknown }[];
  terminationGracePeriodSeconds: number;
  securityContext: { [field: string]: unknown };
  [field: string]: unknown;
};
export type Labels = { [name: string]: string };
export type Deployment = Manifest & {
  spec: {
    replicas?: number;
    selector: { matchLabels: Labels };
    template: { metadata: { labels: Labels; annotations?: Labels }; spec: PodSpec };
  };
};

export const deploymentsOf = ({ manifests }: Success) =>
  manifests.filter((each): each is Deployment => each.kind === 'Deployment');
/** The only deployment that there is. */
export const only = (success: Success): Deployment => {
  const [first, ...others] = deploymentsOf(success);
  if (first === undefined || others.length > 0) throw new Error('not one deployment');
  return first;
};
export const podOf = (deployment: Deployment) => deployment.spec.template.spec;
export const containerOf = (deployment: Deployment) => podOf(deployment).containers[0];
/** Variables that have a value in the manifest. */
export const envOf = (deployment: Deployment) =>
  Object.fromEntries(containerOf(deployment).env.map(({ name, value }) => [name, value]));
