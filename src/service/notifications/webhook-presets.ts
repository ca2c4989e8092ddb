/** Default webhook bodies, by `webhookType`. The receivers expect JSON. */

const everything = `{
  "id": "{{$UUID}}",
  "title": "{{ALERT_TITLE}}",
  "type": "{{ALERT_TYPE}}",
  "isReminder": "{{IS_REMINDER}}",
  "check": {
    "id": "{{CHECK_ID}}",
    "name": "{{CHECK_NAME}}",
    "type": "{{CHECK_TYPE}}",
    "description": "{{CHECK_DESCRIPTION}}",
    "group": "{{GROUP_NAME}}",
    "tags": [{{#each TAGS}}"{{this}}"{{#unless @last}}, {{/unless}}{{/each}}]
  },
  "result": {
    "id": "{{CHECK_RESULT_ID}}",
    "link": "{{RESULT_LINK}}",
    "location": "{{RUN_LOCATION}}",
    "region": "{{REGION}}",
    "responseTime": "{{RESPONSE_TIME}}",
    "startedAt": "{{STARTED_AT}}",
    "error": "{{CHECK_ERROR_MESSAGE}}",
    "statusCode": "{{API_CHECK_RESPONSE_STATUS_CODE}}"
  },
  "ssl": { "domain": "{{SSL_CHECK_DOMAIN}}", "daysRemaining": "{{SSL_DAYS_REMAINING}}" }
}`;

/** One text for people; `line` is the prefix of the second line. */
const message =
  '{{ALERT_TITLE}}{{#if RUN_LOCATION}}\\n{{CHECK_NAME}}, {{RUN_LOCATION}}{{/if}}' +
  '{{#if CHECK_ERROR_MESSAGE}}\\n{{CHECK_ERROR_MESSAGE}}{{/if}}{{#if RESULT_LINK}}\\n{{RESULT_LINK}}{{/if}}';

const card = `{
  "type": "message",
  "attachments": [{
    "contentType": "application/vnd.microsoft.card.adaptive",
    "content": {
      "type": "AdaptiveCard",
      "version": "1.4",
      "body": [
        { "type": "TextBlock", "size": "Medium", "weight": "Bolder", "wrap": true, "text": "{{ALERT_TITLE}}" },
        { "type": "TextBlock", "wrap": true, "text": "{{CHECK_ERROR_MESSAGE}}" },
        { "type": "FactSet", "facts": [
          { "title": "Check", "value": "{{CHECK_NAME}} ({{CHECK_TYPE}})" },
          { "title": "Location", "value": "{{RUN_LOCATION}}" },
          { "title": "Started", "value": "{{STARTED_AT}}" }
        ] }
      ]{{#if RESULT_LINK}},
      "actions": [{ "type": "Action.OpenUrl", "title": "See the result", "url": "{{RESULT_LINK}}" }]{{/if}}
    }
  }]
}`;

/** The templates. */
export const webhookPresets: { readonly [webhookType: string]: string } = {
  /** All fields of an alert. */
  JSON: everything,
  /** Chats with a `text` field. */
  TEXT: `{ "text": "${message}" }`,
  /** Chats with a `content` field. */
  CONTENT: `{ "content": "${message}" }`,
  /** Chats that accept an Adaptive Card. */
  CARD: card,
};

/** The template for a channel without its own; null = it has its own, or its type has no default. */
export function presetOf(config: { webhookType: string | null; template: string | null }): string | null {
  if (config.template !== null && config.template !== '') return null;
  const type = config.webhookType ?? '';
  return Object.hasOwn(webhookPresets, type) ? (webhookPresets[type] ?? null) : null;
}
