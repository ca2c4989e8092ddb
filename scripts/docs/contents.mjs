/** The order of the pages in the site's navigation. A page that is in no group is listed under the last one. */
export const groups = [
  {
    title: 'Start',
    pages: ['README.md', 'docs/tutorial.md', 'docs/faq.md', 'docs/troubleshooting.md', 'docs/pages.md'],
  },
  {
    title: 'Checks',
    pages: [
      'docs/checks.md',
      'docs/scripts-in-the-service.md',
      'docs/api-scripts.md',
      'docs/suites.md',
      'docs/suites-in-the-service.md',
      'docs/heartbeats.md',
      'docs/agentic.md',
      'docs/sessions.md',
      'docs/triggers.md',
    ],
  },
  {
    title: 'Alerts and reports',
    pages: [
      'docs/alerting.md',
      'docs/notifications.md',
      'docs/maintenance-windows.md',
      'docs/status-pages.md',
      'docs/analytics.md',
      'docs/error-groups.md',
      'docs/root-cause-analyses.md',
    ],
  },
  {
    title: 'Operate',
    pages: [
      'docs/operations.md',
      'docs/configuration.md',
      'docs/docker.md',
      'docs/kubernetes.md',
      'docs/metrics.md',
      'docs/network-evidence.md',
      'docs/own-network.md',
      'docs/scaling.md',
      'docs/artifact-store.md',
      'docs/runtimes.md',
      'docs/guards.md',
      'docs/reliability.md',
      'docs/figures.md',
      'docs/upgrade.md',
      'docs/migration.md',
      'CHANGELOG.md',
    ],
  },
  {
    title: 'Security',
    pages: ['SECURITY.md', 'docs/security.md', 'docs/isolation.md', 'docs/secrets.md'],
  },
  {
    title: 'Develop',
    pages: ['docs/api.md', 'docs/agent-protocol.md', 'docs/dependencies.md', 'CONTRIBUTING.md'],
  },
];
