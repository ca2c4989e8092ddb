import { alertTitle } from '../alerting/alert-types.ts';
import { alertFacts, resultLink, severityOf } from './alert-variables.ts';
import { notConfigured, postJson, userAgent, type Delivery, type Sender } from './sender.ts';

/** PAGING_A and PAGING_B: an incident that opens once per check and closes when the check recovers. */

/** The same for all alerts of a check, except certificate alerts, which a recovery must not close. */
function alarmKey({ alert }: Delivery): string {
  if (alert.locationId !== null) return `location-${alert.locationId}`;
  return alert.alertType === 'ALERT_SSL' ? `ssl-${alert.checkId}` : `check-${alert.checkId}`;
}

const factsOf = (delivery: Delivery) =>
  Object.fromEntries(alertFacts(delivery).map(({ name, text }) => [name, text.slice(0, 2000)]));

/** Events, distinguished by `event_action`. */
export const sendPagingA: Sender<'PAGING_A'> = async (delivery, deps) => {
  const url = deps.config.pagingAUrl;
  if (url === null) return notConfigured('PAGING_A_URL');
  const { alert, config } = delivery;
  const severity = severityOf(alert);
  const link = resultLink(delivery);
  const isEnd = severity === 'recovered';
  return postJson(delivery, deps, {
    url,
    of: 'configuration',
    body: {
      routing_key: config.serviceKey,
      event_action: isEnd ? 'resolve' : 'trigger',
      dedup_key: alarmKey(delivery),
      ...(isEnd
        ? {}
        : {
            payload: {
              summary: alertTitle(alert).slice(0, 1024),
              source: alert.checkName.slice(0, 1024),
              severity: severity === 'failed' ? 'critical' : 'warning',
              timestamp: alert.startedAt.toISOString(),
              group: alert.groupName ?? undefined,
              class: alert.checkType,
              custom_details: factsOf(delivery),
            },
            client: userAgent,
            client_url: delivery.publicUrl,
            links: link === null ? [] : [{ href: link, text: 'Result' }],
          }),
    },
  });
};

/** Alerts with an alias; the same alias again counts as another occurrence. */
export const sendPagingB: Sender<'PAGING_B'> = async (delivery, deps) => {
  const { pagingBUrl, pagingBEuUrl, pagingBScheme } = deps.config;
  const { alert, config } = delivery;
  const base = config.region === 'EU' ? (pagingBEuUrl ?? pagingBUrl) : pagingBUrl;
  if (base === null) return notConfigured('PAGING_B_URL');
  const authorization = `${pagingBScheme} ${config.apiKey}`;
  const alias = alarmKey(delivery);
  if (severityOf(alert) === 'recovered') {
    return postJson(delivery, deps, {
      url: `${base}/v2/alerts/${encodeURIComponent(alias)}/close?identifierType=alias`,
      of: 'configuration',
      authorization,
      body: { source: userAgent, note: alertTitle(alert).slice(0, 1024) },
    });
  }
  const link = resultLink(delivery);
  return postJson(delivery, deps, {
    url: `${base}/v2/alerts`,
    of: 'configuration',
    authorization,
    body: {
      message: alertTitle(alert).slice(0, 130),
      alias,
      description: [...alertFacts(delivery).map(({ name, text }) => `${name}: ${text}`), link ?? '']
        .join('\n')
        .slice(0, 15_000),
      tags: alert.tags.slice(0, 20),
      details: factsOf(delivery),
      entity: alert.checkName.slice(0, 512),
      priority: config.priority,
      source: userAgent,
    },
  });
};
